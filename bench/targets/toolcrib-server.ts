import { content, createServer, defineTool, ToolRegistry, type Server } from 'toolcrib';
import { echoInput, echoObject, echoOutput, fillerTools } from './catalog.ts';

/** The server that both toolcrib targets serve. */
export function toolcribServer(tools: number): Server {
  const registry = new ToolRegistry();
  registry.registerTool(
    defineTool({ name: 'echo', description: 'Echoes the text.', input: echoInput }, ({ text }) =>
      content.text(text),
    ),
  );
  registry.registerTool(
    defineTool(
      {
        name: 'echo_object',
        description: 'Echoes the text as an object.',
        input: echoInput,
        output: echoOutput,
      },
      ({ text }) => echoObject(text),
    ),
  );
  for (const { name, description, inputSchema } of fillerTools(tools)) {
    registry.registerTool(defineTool({ name, description, input: inputSchema }, () => content.text('')));
  }
  return createServer({ name: 'bench', version: '1.0.0', source: registry });
}
