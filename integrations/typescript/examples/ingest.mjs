// Passes a vendor's stream on to a hub as it is. Usage: node ingest.mjs DIALECT CONVERSATION < stream
// A stream that is cut cannot resume (see `ingest`): `fanlight tee` does the same and resumes.
import { formatPosition, ingest } from "fanlight";

const [dialect, conversation] = process.argv.slice(2);
const { events, anomalies, position } = await ingest(dialect, conversation, process.stdin);
console.log(`${events} events, ${anomalies} anomalies, at ${formatPosition(position)}`);
