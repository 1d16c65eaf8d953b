import type { ListedTool } from '../../core/tool.ts';
import { declareSchema, toTypeName } from './schema-type.ts';
import { docComment, keyOf } from './type-text.ts';

/** TypeScript types for the input and output of tools, and a map of them by name; the same tools give the same text. */
export function toolTypes(tools: readonly ListedTool[]): string {
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const taken = new Set(['Tools']);
  const named = sorted.map((tool) => ({ tool, ...typeNames(tool, taken) }));
  const take = (wish: string): string => takeFree(wish, taken);
  const declarations = named.flatMap(({ tool, input, output }) => [
    declareSchema({ schema: tool.inputSchema, name: input, doc: `What ${tool.name} takes.`, take }),
    ...(tool.outputSchema === undefined
      ? []
      : [
          declareSchema({ schema: tool.outputSchema, name: output, doc: `What ${tool.name} returns.`, take }),
        ]),
  ]);
  const entries = named.map(({ tool, input, output }) => {
    const returned = tool.outputSchema === undefined ? 'unknown' : output;
    const doc = typeof tool.description === 'string' ? docComment(tool.description, '  ') : '';
    return `${doc}  ${keyOf(tool.name)}: { input: ${input}; output: ${returned} };\n`;
  });
  const map = `/** The tools by name, with what each takes and returns. */\nexport interface Tools {\n${entries.join('')}}\n`;
  return [...declarations, map].join('\n');
}

// Names that differ only in spelling give the same type name.
function typeNames({ name }: ListedTool, taken: Set<string>): { input: string; output: string } {
  const words = toTypeName(name);
  const base = /^[A-Za-z]/.test(words) ? words : `Tool${words}`;
  for (let number = 1; ; number++) {
    const own = number === 1 ? base : `${base}${number}`;
    const names = { input: `${own}Input`, output: `${own}Output` };
    if (taken.has(names.input) || taken.has(names.output)) continue;
    taken.add(names.input).add(names.output);
    return names;
  }
}

function takeFree(wish: string, taken: Set<string>): string {
  let name = wish;
  for (let number = 2; taken.has(name); number++) name = `${wish}${number}`;
  taken.add(name);
  return name;
}
