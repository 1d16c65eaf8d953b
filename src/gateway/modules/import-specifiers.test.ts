import { expect, test } from 'vitest';
import { specifiersIn } from './import-specifiers.ts';

const whole = (text: string) => ({ text, isWhole: true });
const beginning = (text: string) => ({ text, isWhole: false });

test.each([
  [`import a from './a.ts';`, whole('./a.ts')],
  [`import{a}from"./a.ts"`, whole('./a.ts')],
  [`import './a.ts'`, whole('./a.ts')],
  [`import a, * as b\n  from './a.ts' with { type: 'json' };`, whole('./a.ts')],
  [`export * from './a.ts'`, whole('./a.ts')],
  [`export { a } from 'pkg/deep'`, whole('pkg/deep')],
  [`await import('./a.ts')`, whole('./a.ts')],
  [`import(/* webpack: x */ \`./a.ts\`, { with: { type: 'json' } })`, whole('./a.ts')],
  [`import(new URL('./a.ts', import.meta.url))`, whole('./a.ts')],
  [`import.meta.resolve('./a.ts')`, whole('./a.ts')],
  [`require('./a')`, whole('./a')],
  [`module.require( "./a" )`, whole('./a')],
  [`require.resolve('./a')`, whole('./a')],
  [`import a = require('./a')`, whole('./a')],
  [`createRequire(import.meta.url)('./a')`, whole('./a')],
  [`new Worker(new URL('./a.js', import.meta.url))`, whole('./a.js')],
  [`fork('./a.js')`, whole('./a.js')],
  ['import(`./parts/${name}.ts`)', beginning('./parts/')],
  [`import('./parts/' + name)`, beginning('./parts/')],
  [`require(\n  // which\n  '@acme/' + name)`, beginning('@acme/')],
  ['import(name)', beginning('')],
  ['import(`${folder}/a.ts`)', beginning('')],
  ['require(join(folder, name))', beginning('')],
])('%s', (source, expected) => {
  expect(specifiersIn(source)).toEqual([expected]);
});

test('a require function is recognised under any name', () => {
  expect(
    specifiersIn(
      `const load$ = createRequire(import.meta.url);\nload$('./a'); load$.resolve('./b'); load$(c)`,
    ),
  ).toEqual(expect.arrayContaining([whole('./a'), whole('./b'), beginning('')]));
});

test.each([
  'loader.import(name)',
  'this.require(name)',
  'const important = from(name)',
  'function require(name) {}',
  '// import(name) would do, too',
  '/*\n * require(name)\n */',
  'new Worker(file)',
  'import.meta.url',
])('no import is found in: %s', (source) => {
  expect(specifiersIn(source)).toEqual([]);
});
