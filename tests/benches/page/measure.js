// Runs in the measured page, before its own scripts. Marks in the stream (`mk` and the time they were sent at) are seen
// when they are in the document, and counted as painted once the frame that shows them is over.
(() => {
  const measured = (window.measured = { on: false, gaps: [], tasks: [], lags: [], first: 0, ended: false, elements: 0 });
  let last = 0;
  let newest = 0;
  let fresh = [];
  const over = new MessageChannel();
  over.port1.onmessage = () => {
    const now = performance.timeOrigin + performance.now();
    for (const sent of fresh) measured.lags.push(now - sent);
    fresh = [];
  };
  const frame = (now) => {
    if (measured.on && last) measured.gaps.push(now - last);
    last = now;
    over.port2.postMessage(0);
    requestAnimationFrame(frame);
  };
  const look = (text) => {
    for (const [, sent] of text.matchAll(/mk(\d{13})k/g)) {
      if (+sent > newest) {
        newest = +sent;
        if (measured.on) fresh.push(newest);
      }
    }
    if (text.includes('the-very-end')) measured.ended = true;
  };
  const watch = () => {
    new MutationObserver((changes) => {
      for (const { type, target, addedNodes } of changes) {
        if (type === 'characterData') look(target.data.slice(-600));
        else for (const node of addedNodes) look(node.textContent.slice(-2000));
      }
      if (!measured.first && document.querySelector('[data-t=conversation-row], [data-t=run-row]:not(.gone)')) measured.first = performance.now();
    }).observe(document, { subtree: true, childList: true, characterData: true });
    requestAnimationFrame(frame);
  };
  new PerformanceObserver((list) => {
    if (measured.on) for (const entry of list.getEntries()) measured.tasks.push(entry.duration);
  }).observe({ type: 'longtask' });
  watch();
  setInterval(() => {
    measured.elements = Math.max(measured.elements, document.querySelectorAll('*').length);
  }, 1000);
})();
