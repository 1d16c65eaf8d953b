import { connect } from 'toolcrib';
import { connectStdio } from 'toolcrib/node';
import { peerProgram, type Connect } from './peer.ts';

/** Connects our client, with all its checks. */
export const connectOwn: Connect = async ({ url }) => {
  const client = url === undefined ? await connectStdio(process.execPath, [peerProgram]) : await connect(url);
  return {
    async call(text) {
      const { content } = await client.callTool('echo', { text });
      const [block] = content;
      return block?.type === 'text' ? block.text : '';
    },
  };
};
