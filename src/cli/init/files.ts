import { packageFolder, packageVersion, readManifest } from '../package-version.ts';
import { ownSource } from './own-source.ts';
import { named, templates, type Template, type TemplateName } from './templates.ts';

/** The choices for a new project. */
export interface ProjectPlan {
  readonly name: string;
  readonly template: TemplateName;
  /** The name of the tool. */
  readonly tool: string;
  readonly language: 'typescript' | 'javascript';
  /** The three parts of the tool's description. */
  readonly does: string;
  readonly returns: string;
  readonly when: string;
}

/** The files of a new project, by path. */
export function projectFiles(plan: ProjectPlan): ReadonlyMap<string, string> {
  const { file } = templateOf(plan);
  const isTyped = plan.language === 'typescript';
  const ending = isTyped ? 'ts' : 'js';
  const source = ownSource(packageFolder);
  return new Map([
    ['package.json', toJson(manifestOf(plan.name, ending, source))],
    ['toolcrib.yaml', configurationOf(plan.name, ending)],
    [`tools/${file}.${ending}`, toolOf(plan)],
    [`tools/${file}.test.${ending}`, testOf(plan, ending)],
    ...(isTyped ? [['tsconfig.json', toJson(compilerSettings)] as const] : []),
    [
      '.gitignore',
      'node_modules/\n.env\n# The record, the keys and what they are sealed with.\ntoolcrib.*\n!toolcrib.yaml\n',
    ],
    ['README.md', readmeOf(plan, ending, source)],
  ]);
}

// The template under the name that was chosen for its tool.
function templateOf({ template, tool }: ProjectPlan): Template {
  return named(templates[template], tool);
}

type Ending = 'ts' | 'js';

function manifestOf(name: string, ending: Ending, source: string | undefined): object {
  // A project starts with the versions this package is tested with.
  const own = readManifest();
  const versions = { ...own.devDependencies, ...own.dependencies };
  const pick = (...names: readonly string[]): object =>
    Object.fromEntries(names.map((one) => [one, versions[one]]));
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: {
      start: 'toolcrib serve',
      test: `node ${ending === 'ts' ? '--import jiti/register ' : ''}--test tools/*.test.${ending}`,
      check: `${ending === 'ts' ? 'tsc && ' : ''}toolcrib check && toolcrib lint`,
    },
    dependencies: { toolcrib: source ?? `^${own.version}`, ...pick('zod') },
    ...(ending === 'ts' && { devDependencies: pick('@types/node', 'jiti', 'typescript') }),
  };
}

const compilerSettings = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ['tools'],
};

function configurationOf(name: string, ending: Ending): string {
  return `# yaml-language-server: $schema=./node_modules/toolcrib/toolcrib.schema.json
server:
  name: ${JSON.stringify(name)}

tools:
  modules: [./tools/*.${ending}]
  ready: {} # what comes with Toolcrib, such as ping: {}; none of it for now
`;
}

function toolOf(plan: ProjectPlan): string {
  const { does, returns, when } = plan;
  const { tool, title, variable, above, parts, handler } = templateOf(plan);
  return `import { defineTool } from 'toolcrib';
import { z } from 'zod';

${above}
export const ${variable} = defineTool(
  {
    name: '${tool}',
    title: '${title}',
    // A model chooses by this text alone: what the tool does, what it returns, when to use it.
    description: [
      ${quoted(does)},
      ${quoted(returns)},
      ${quoted(when)},
    ].join(' '),
${parts}
  },
  ${handler},
);
`;
}

function testOf(plan: ProjectPlan, ending: Ending): string {
  const { variable, file, tests } = templateOf(plan);
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, ToolRegistry } from 'toolcrib';
import { createTestClient } from 'toolcrib/testing';
import { ${variable} } from './${file}.${ending}';

const client = createTestClient(createServer({ source: new ToolRegistry().registerTool(${variable}) }));

${tests}`;
}

function readmeOf(plan: ProjectPlan, ending: Ending, source: string | undefined): string {
  const { tool, file } = templateOf(plan);
  return `# ${plan.name}

Tools for AI agents, served over the Model Context Protocol by [Toolcrib](https://www.npmjs.com/package/toolcrib).

\`\`\`sh
npm install
npm test
npm start
\`\`\`

\`npm start\` serves them at http://127.0.0.1:8484/mcp, to this machine alone, and prints what to put into your client. A file that is saved is served anew at once.

- \`tools/${file}.${ending}\` is the tool \`${tool}\`. Add others beside it: whatever tool a file in \`tools\` exports is served.
- \`toolcrib.yaml\` is the configuration: who may call, limits, and the record of every call.
- \`npm run check\` says what is wrong with either, and what a model would stumble over.

${whereFrom(source)}
`;
}

function whereFrom(source: string | undefined): string {
  const published = `npm install toolcrib@^${packageVersion()}`;
  return source === undefined
    ? `Toolcrib comes from the npm registry (\`${published}\`). To use a copy of its sources instead, run \`npm ci\` there and \`npm install PATH-OF-THE-COPY\` here.`
    : `Toolcrib comes from \`${source}\`, which made this project. To take it from the npm registry instead, once it is published: \`${published}\`.`;
}

// A string literal on one line, for any typed text.
function quoted(text: string): string {
  const json = JSON.stringify(text.replaceAll(/\s+/g, ' ').trim());
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

function toJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
