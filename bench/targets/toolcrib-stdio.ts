import { serveStdio } from 'toolcrib/node';
import { live, targetOptions } from './target.ts';
import { toolcribServer } from './toolcrib-server.ts';

live();
await serveStdio(toolcribServer(targetOptions()));
