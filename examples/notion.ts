import { createServer, ToolRegistry } from 'toolcrib';
import { listen } from 'toolcrib/node';
import { notionTools } from 'toolcrib/tools';

// Needs NOTION_TOKEN, the secret of an integration that the pages are shared with.
const { NOTION_TOKEN: token, NOTION_URL: baseUrl, PORT = '8484' } = process.env;
if (!token) throw new Error('Set NOTION_TOKEN to the secret of your Notion integration.');

const tools = notionTools({ token, ...(baseUrl !== undefined && { baseUrl }) });
const server = createServer({ name: 'notion', source: new ToolRegistry().registerTool(...tools) });
console.log((await listen(server, { port: Number(PORT) })).url);
