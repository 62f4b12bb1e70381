// A page with LangGraph's `useStream`, on an origin of its own: it asks an agent of the hub. The test drives it through `window.stream`.

import { useStream } from "@langchain/langgraph-sdk/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const query = new URLSearchParams(location.search);

function Page() {
  const [threadId, onThreadId] = useState(query.get("thread"));
  const [custom, setCustom] = useState([]);
  const stream = useStream({
    apiUrl: `${query.get("hub")}${query.get("door")}`,
    assistantId: query.get("agent"),
    threadId,
    onThreadId,
    fetchStateHistory: true,
    reconnectOnMount: query.has("resume"),
    onCustomEvent: (event) => setCustom((all) => [...all, event]),
  });
  window.stream = stream;
  window.threadId = threadId;
  window.custom = custom;
  return (
    <main data-loading={stream.isLoading} data-error={stream.error?.message} data-interrupt={stream.interrupt?.value?.action_requests?.[0]?.name}>
      {stream.messages.map((message) => {
        const meta = stream.getMessagesMetadata(message);
        return (
          <section key={message.id} className={message.type} data-branches={meta?.branchOptions?.length ?? 1}>
            <p>{typeof message.content === "string" ? message.content : JSON.stringify(message.content)}</p>
            {message.tool_calls?.map((call) => <code key={call.id}>{`${call.name} ${JSON.stringify(call.args)}`}</code>)}
          </section>
        );
      })}
    </main>
  );
}

createRoot(document.getElementById("root")).render(<Page />);
