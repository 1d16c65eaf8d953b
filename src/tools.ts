export { pingTool, PingTool } from './tools/ping.ts';
export { serverInfoTool, ServerInfoTool } from './tools/server-info.ts';
export type { ServerInfoConfig } from './tools/server-info.ts';
