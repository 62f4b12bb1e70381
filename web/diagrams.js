// Draws a diagram of Mermaid, whenever the page sends one. It runs behind Mermaid in the document of the hub that has no origin and no
// network (/embed), a frame of the page. The page takes what comes back for untrusted, whatever this script does.
//
// Both speak JSON.
//
//   page ─▶ { number, source }
//   page ◀─ { ready: true } once, then { number, light, dark, width, height, kind, told, words } or { number, why }
//
// `light` and `dark` are SVG documents; `dark` is empty where the diagram has colours of its own, which are meant for light paper.
(() => {
  // The most lines between nodes. Some browsers run this on the page's own thread, which stands still for as long as a layout takes.
  const LINES_MAX = 150;

  // The colours of web/styles/tokens.css.
  const paper = {
    background: '#ffffff', primaryColor: '#eef0f3', primaryTextColor: '#14171c', primaryBorderColor: '#8a94a3', lineColor: '#4a5361',
    secondaryColor: '#e1e4e9', tertiaryColor: '#f7f8fa', edgeLabelBackground: '#ffffff', rowOdd: '#ffffff', rowEven: '#f7f8fa',
    noteBkgColor: '#fdf3d7', noteTextColor: '#14171c', noteBorderColor: '#c9a227', taskBkgColor: '#cfe0fb', taskBorderColor: '#1a56c4',
    taskTextColor: '#14171c', taskTextDarkColor: '#14171c', taskTextLightColor: '#14171c', taskTextOutsideColor: '#14171c',
    activeTaskBkgColor: '#e7d9fb', activeTaskBorderColor: '#6d35c4', doneTaskBkgColor: '#e1e4e9', doneTaskBorderColor: '#5f6978',
    critBkgColor: '#fbd5d7', critBorderColor: '#b4232a', sectionBkgColor: '#f7f8fa', sectionBkgColor2: '#f7f8fa',
    altSectionBkgColor: '#ffffff', gridColor: '#c5cad2',
  };
  const night = {
    darkMode: true,
    background: '#0e1116', primaryColor: '#1d232c', primaryTextColor: '#e8ecf2', primaryBorderColor: '#6b7788', lineColor: '#a9b3c1',
    secondaryColor: '#2a313c', tertiaryColor: '#151a21', edgeLabelBackground: '#0e1116', rowOdd: '#0e1116', rowEven: '#151a21',
    noteBkgColor: '#3a3218', noteTextColor: '#e8ecf2', noteBorderColor: '#8f7a33', taskBkgColor: '#1f3a66', taskBorderColor: '#7fb0ff',
    taskTextColor: '#e8ecf2', taskTextDarkColor: '#e8ecf2', taskTextLightColor: '#e8ecf2', taskTextOutsideColor: '#e8ecf2',
    activeTaskBkgColor: '#43306b', activeTaskBorderColor: '#c4a5ff', doneTaskBkgColor: '#2a313c', doneTaskBorderColor: '#8e9aaa',
    critBkgColor: '#5e2427', critBorderColor: '#ff918d', sectionBkgColor: '#151a21', sectionBkgColor2: '#151a21',
    altSectionBkgColor: '#0e1116', gridColor: '#3a4350',
  };

  // Texts are those of SVG, since not every browser draws HTML in an image. A diagram cannot change what `secure` names: its own bounds
  // are Mermaid's (`maxEdges`) and the page's (`DIAGRAM_BYTES_MAX`). The line of today is left out: a picture does not depend on the day.
  const look = (themeVariables) => ({
    startOnLoad: false, suppressErrorRendering: true, securityLevel: 'strict', maxTextSize: 8192, maxEdges: LINES_MAX,
    secure: [
      'secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'suppressErrorRendering', 'htmlLabels', 'fontFamily', 'theme',
      'themeVariables', 'themeCSS',
    ],
    deterministicIds: true, handDrawnSeed: 1, htmlLabels: false, flowchart: { htmlLabels: false }, layout: 'dagre', look: 'classic',
    fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif', theme: 'base', themeVariables,
    themeCSS: '.today{display:none} *{animation:none!important}', sequence: { mirrorActors: false },
    gantt: { useWidth: 760, fontSize: 13, sectionFontSize: 13, barHeight: 24, barGap: 6, leftPadding: 90, axisFormat: '%d %b' },
  });

  // The drawing as a document that stands for itself, with its size, and the words in it.
  const settled = (svg) => {
    const stage = document.body.appendChild(document.createElement('div'));
    stage.innerHTML = svg;
    const drawing = stage.firstElementChild;
    // Without labels of HTML, Mermaid puts those of states at the left.
    for (const label of drawing.querySelectorAll('.statediagram-state > .label')) {
      const box = label.querySelector('text')?.getBBox(), at = label.transform.baseVal.consolidate();
      if (box && at) label.setAttribute('transform', `translate(${-box.x - box.width / 2}, ${at.matrix.f})`);
    }
    const { width, height } = drawing.viewBox.baseVal;
    drawing.removeAttribute('style');
    drawing.setAttribute('width', width);
    drawing.setAttribute('height', height);
    const rows = (text) => {
      const lines = [...text.querySelectorAll(':scope > tspan')].map((line) => line.textContent.trim());
      return lines.length ? lines.join(' ') : text.textContent.trim();
    };
    const texts = [...drawing.querySelectorAll('text')].map(rows).filter(Boolean);
    const told = ['title', 'desc'].map((name) => drawing.querySelector(`:scope > ${name}`)?.textContent ?? '').filter(Boolean);
    const settled = {
      svg: new XMLSerializer().serializeToString(drawing), width, height,
      kind: drawing.getAttribute('aria-roledescription') ?? '', told: told.join(': '), words: [...new Set(texts)].join(', '),
    };
    stage.remove();
    return settled;
  };

  // The lines between nodes, two nodes for one line at most; Mermaid bounds those of flowcharts alone. Where they cannot be counted, the lines of the source stand for them.
  const linesIn = async (source) => {
    const bare = source.replace(/^\s*---\s*\n[^]*?\n\s*---\s*\n/, '').replace(/%%\{[^]*?\}%%/g, '');
    try {
      const { db } = await mermaid.mermaidAPI.getDiagramFromText(bare);
      const { nodes = [], edges = [] } = db.getData?.() ?? {};
      return Math.max(edges.length, nodes.length / 2);
    } catch {
      return bare.split('\n').length;
    }
  };

  const draw = async (source, colours) => {
    mermaid.initialize(look(colours));
    if (await linesIn(source) > LINES_MAX) throw new Error('Edge limit exceeded');
    return settled((await mermaid.render('d', source)).svg);
  };

  const say = (answer) => parent.postMessage(JSON.stringify(answer), '*');

  // What is wrong, in a line: that it is too large, where the grammar stops, or the first line of what Mermaid says.
  const reason = (error) => {
    const [first, near] = String(error?.message ?? error).split('\n');
    if (/^Edge limit exceeded/.test(first)) return `it has more than ${LINES_MAX} lines between nodes, or ${2 * LINES_MAX} nodes`;
    return /^Parse error on line/.test(first) && near ? `Mermaid cannot read it after “${near.replace(/^\.+/, '').trim()}”` : first;
  };

  // Whether a source names colours: of styles, and of the areas of sequence diagrams.
  const isColoured = (source) => /\b((fill|stroke|color|background)\s*:|(rgb|hsl)a?\()|^\s*(rect|box)\s/im.test(source);

  addEventListener('message', async ({ source: from, data }) => {
    if (from !== parent) return;
    const { number, source } = JSON.parse(data);
    try {
      const { svg: light, ...rest } = await draw(source, paper);
      const dark = isColoured(source) ? '' : (await draw(source, night)).svg;
      say({ number, light, dark, ...rest });
    } catch (error) {
      say({ number, why: reason(error) });
    }
  });
  // The first drawing takes longest: it is done before the page counts the time of a diagram.
  draw('flowchart LR\n  A --> B', paper).catch(() => {}).finally(() => say({ ready: true }));
})();
