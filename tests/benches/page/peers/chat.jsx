// The usual page: `useChat` over the hub's stream for the AI SDK, all parts mounted, the end followed.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { useEffect, useLayoutEffect, useRef } from 'react';
import { createRoot } from 'react-dom/client';

function Call({ part }) {
  return (
    <details className="card" open>
      <summary>{part.toolName ?? part.type.replace(/^tool-/, '')} · {part.state}</summary>
      <pre>{JSON.stringify(part.input, null, 2)}</pre>
      {part.output !== undefined && <pre>{JSON.stringify(part.output, null, 2)}</pre>}
    </details>
  );
}

function Part({ part, Markdown }) {
  if (part.type === 'text') return <Markdown text={part.text} />;
  if (part.type === 'reasoning') return <details className="thinking" open><summary>Thinking</summary>{part.text}</details>;
  if (part.type === 'dynamic-tool' || part.type.startsWith('tool-')) return <Call part={part} />;
  return null;
}

function Chat({ Markdown }) {
  const { messages, sendMessage, status } = useChat({ transport: new DefaultChatTransport({ api: '/api/chat' + location.search }) });
  const end = useRef(null);
  const asked = useRef(false);
  useEffect(() => {
    if (asked.current) return;
    asked.current = true;
    sendMessage({ text: 'go' });
  }, []);
  useLayoutEffect(() => {
    end.current?.scrollIntoView();
  });
  return (
    <main data-status={status}>
      {messages.map((message) => (
        <section key={message.id} className={message.role}>
          {message.parts.map((part, index) => <Part key={index} part={part} Markdown={Markdown} />)}
        </section>
      ))}
      <div ref={end} />
    </main>
  );
}

export function show(Markdown) {
  createRoot(document.getElementById('root')).render(<Chat Markdown={Markdown} />);
}
