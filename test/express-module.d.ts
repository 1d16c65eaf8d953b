/** The part of Express that the example uses; the package ships no types. */
declare module 'express' {
  import type { IncomingMessage, Server, ServerResponse } from 'node:http';

  interface Application {
    all(path: string, handler: (request: IncomingMessage, response: ServerResponse) => unknown): this;
    listen(port: number, host: string, done: () => void): Server;
  }

  export default function express(): Application;
}
