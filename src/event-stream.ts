// Runs in browsers: nothing here, and nothing it imports, may need Node.
export { parseSseMessages } from './protocol/decode/sse-messages.ts';
