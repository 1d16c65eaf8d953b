import { listen } from 'toolcrib/node';
import { announce, targetOptions } from './target.ts';
import { toolcribServer } from './toolcrib-server.ts';

const http = await listen(toolcribServer(targetOptions()), {
  host: '127.0.0.1',
  port: 0,
  path: '/mcp',
});
announce(Number(new URL(http.url).port));
