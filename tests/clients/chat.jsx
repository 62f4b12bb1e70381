// The usual page: `useChat` on an origin of its own, asking an agent of the hub. The test drives it through `window.chat`.

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { createRoot } from "react-dom/client";

const query = new URLSearchParams(location.search);
const tools = [{ name: "ask_user", description: "asks", parameters: { type: "object", properties: {} } }];
const transport = new DefaultChatTransport({ api: `${query.get("hub")}/compat/ai-sdk/helper`, body: { tools } });

function Part({ part }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "reasoning") return <em>{part.text}</em>;
  if (part.type === "dynamic-tool") return <code>{`${part.toolName} ${part.state} ${part.output ?? ""}`}</code>;
  return null;
}

function Chat() {
  const chat = useChat({
    id: query.get("chat"),
    resume: query.has("resume"),
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      if (toolCall.toolName === "ask_user") chat.addToolOutput({ tool: "ask_user", toolCallId: toolCall.toolCallId, output: "blue" });
    },
  });
  window.chat = chat;
  return (
    <main data-status={chat.status} data-error={chat.error?.message}>
      {chat.messages.map((message) => (
        <section key={message.id} className={message.role}>
          {message.parts.map((part, place) => <Part key={place} part={part} />)}
        </section>
      ))}
    </main>
  );
}

createRoot(document.getElementById("root")).render(<Chat />);
