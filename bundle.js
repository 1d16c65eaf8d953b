/// <reference types="node" />
/// <reference lib="es2023" />
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { build } from 'rolldown';

// Not compiled in: native, loaded only when needed, or shared with the program around it (docs/decisions/0008).
const installed = [
  '@jmespath-community/jmespath',
  '@opentelemetry/api',
  'jiti',
  'libpg-query',
  'libsql',
  're2js',
];

const entries = {
  index: 'src/index.ts',
  node: 'src/node.ts',
  tools: 'src/tools.ts',
  testing: 'src/testing.ts',
  stages: 'src/stages.ts',
  trace: 'src/trace.ts',
  'sign-in': 'src/sign-in.ts',
  gateway: 'src/gateway.ts',
  host: 'src/host.ts',
  'store-worker': 'src/store/sqlite/worker.ts',
  'sql-child': 'src/tools/sql/child.ts',
  'transform-worker': 'src/tools/compute/transform-worker.ts',
  'cli/main': 'src/cli/main.ts',
};

// Both drop calls whose value is not used, and with them the errors those would throw.
const asWritten = { treeshake: false };
// Names of functions and classes stay, so that the stacks in a log can be read.
const minify = { mangle: { keepNames: true, toplevel: true }, compress: false, codegen: true };

// Zod's messages in fifty languages, of which a server loads one.
const withoutTranslations = {
  name: 'without-translations',
  /** @param {string} id @param {string | undefined} importer */
  resolveId: (id, importer) =>
    id === '../locales/index.js' && importer?.includes('/node_modules/zod/')
      ? join(importer, '../../locales/en.js')
      : undefined,
};

/** @type {Set<string> | undefined} */
let served;

// Loading a hundred small modules is a large part of a server's start (docs/decisions/0006).
const { output } = await build({
  input: Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(file))),
  platform: 'node',
  ...asWritten,
  plugins: [withoutTranslations],
  // Their other builds are made of modules, which take half the time to start and can be compiled in.
  resolve: {
    alias: {
      yaml: join(import.meta.dirname, 'node_modules/yaml/browser/dist/index.js'),
      'jsonc-parser': join(import.meta.dirname, 'node_modules/jsonc-parser/lib/esm/main.js'),
    },
  },
  external: (id) => isBuiltin(id) || installed.some((name) => id === name || id.startsWith(`${name}/`)),
  output: {
    dir: 'dist',
    cleanDir: true,
    sourcemap: true,
    minify,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
    // What is always loaded together is one file: opening a file takes longer than reading it.
    codeSplitting: {
      groups: [
        { name: 'core', test: /src\/(?:base|schema|core(?!\/merg))\/|src\/config\/complaint\.ts/ },
        // Only those who put several sources together need this.
        { name: 'merge', test: /src\/core\/merg/ },
        { name: 'server', test: /src\/(?:server|protocol)\// },
        // What comes before a server's own code, and what it shares with the thread of its store.
        {
          name: 'first',
          test: /src\/(?:cli\/(?:default-file|package-version)|store\/sqlite\/start-worker)\.ts/,
        },
        // What every command needs, so that one that talks to a server does not load a server.
        {
          name: 'terminal',
          test: /src\/(?:cli\/(?:complain|output|table|connect\/entries)|config\/expand)\.ts/,
        },
        { name: 'record', test: /src\/store\/(?:store|journal\/(?:chain|intent))\.ts/ },
        // Somebody who imports one part of the library does not load the others.
        servedGroup('tools', /node_modules\/zod\/|src\/tools\//),
        servedGroup('yaml', /node_modules\/yaml\//),
        servedGroup('auth', /src\/auth\//),
        servedGroup('stages', /src\/(?:stages|observe)\//),
        servedGroup('gateway', /./),
      ],
    },
  },
});

// npm sets it when it installs the package; a folder that is used by its path is built after that.
chmodSync('dist/cli/main.js', 0o755);

// Loaded with the first check and at once, so it is required, not imported.
const library = await build({
  input: 'ajv-library',
  platform: 'node',
  ...asWritten,
  plugins: [
    {
      name: 'ajv-library',
      resolveId: (id) => (id === 'ajv-library' ? id : undefined),
      load: (id) =>
        id === 'ajv-library'
          ? "export { Ajv2020, _ } from 'ajv/dist/2020.js'; export { fullFormats } from 'ajv-formats/dist/formats.js';"
          : undefined,
    },
  ],
  output: { file: 'dist/shared/ajv.cjs', format: 'cjs', minify },
});

// One file that needs no other, for pages that load it as it is.
const forBrowsers = await build({
  input: 'src/event-stream.ts',
  platform: 'browser',
  ...asWritten,
  output: { file: 'dist/event-stream.js', sourcemap: true, minify },
});

const modules = [...output, ...library.output, ...forBrowsers.output].flatMap((chunk) =>
  chunk.type === 'chunk' ? chunk.moduleIds : [],
);
writeFileSync('dist/THIRD-PARTY.md', describeThirdParty(modules));

/**
 * Those of some modules that every server loads, whatever it is configured to do.
 * @param {string} name
 * @param {RegExp} test
 * @returns {import('rolldown').CodeSplittingGroup}
 */
function servedGroup(name, test) {
  return {
    debugName: name,
    name(id, graph) {
      served ??= reachedFrom(join(import.meta.dirname, 'src/cli/serve.ts'), graph);
      return test.test(id) && served.has(id) ? name : null;
    },
  };
}

/**
 * @param {string} entry
 * @param {import('rolldown').ChunkingContext} graph
 */
function reachedFrom(entry, graph) {
  const reached = new Set([entry]);
  // A set also visits what is added to it on the way.
  for (const id of reached) for (const next of graph.getModuleInfo(id)?.importedIds ?? []) reached.add(next);
  return reached;
}

/**
 * Says whose work is inside the bundle, at which version and under which terms: an installer cannot see it otherwise.
 * @param {readonly string[]} ids
 */
function describeThirdParty(ids) {
  const inPackage = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
  const folders = new Set(ids.flatMap((id) => inPackage.exec(id.replaceAll('\\', '/'))?.[0] ?? []));
  const packages = [...folders].map(readPackage).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const texts = packages.map(({ name, version, text }) => `## ${name} ${version}\n\n~~~text\n${text}\n~~~\n`);
  return [
    '# Third-party software in this package',
    '',
    'These packages are compiled into the files beside this one.',
    '',
    '| package | version | licence |',
    '| --- | --- | --- |',
    ...packages.map(({ name, version, license }) => `| ${name} | ${version} | ${license} |`),
    '',
    ...texts,
  ].join('\n');
}

/** @param {string} folder */
function readPackage(folder) {
  const about = /** @type {{ name: string, version: string, license?: unknown }} */ (
    JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  );
  const { name, version, license } = about;
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const text =
    files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n') || inReadme(folder);
  if (typeof license !== 'string' || text === '')
    throw new Error(`${name} ${version} comes without a licence: add it to the list of installed packages.`);
  return { name, version, license, text };
}

/**
 * Some packages have their terms at the end of their README.
 * @param {string} folder
 */
function inReadme(folder) {
  const readme = readdirSync(folder).find((file) => /^readme\b/i.test(file));
  const text = readme === undefined ? '' : readFileSync(join(folder, readme), 'utf8');
  return /^#+ *licen[cs]e\s+([^]*)$/im.exec(text)?.[1]?.trim() ?? '';
}
