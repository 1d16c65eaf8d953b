import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { parseUriTemplate } from './uri-template.ts';

const VALUES = {
  var: 'value',
  hello: 'Hello World!',
  half: '50%',
  path: '/foo/bar',
  base: 'http://example.com/home/',
  who: 'fred',
  v: '6',
  x: '1024',
  y: '768',
  empty: '',
};

describe('expansion', () => {
  test.each([
    ['{var}', 'value'],
    ['{hello}', 'Hello%20World%21'],
    ['{half}', '50%25'],
    ['O{empty}X', 'OX'],
    ['O{undef}X', 'OX'],
    ['{x,y}', '1024,768'],
    ['{x,hello,y}', '1024,Hello%20World%21,768'],
    ['?{x,empty}', '?1024,'],
    ['?{x,undef}', '?1024'],
    ['{+var}', 'value'],
    ['{+hello}', 'Hello%20World!'],
    ['{+half}', '50%25'],
    ['{+base}index', 'http://example.com/home/index'],
    ['{+path}/here', '/foo/bar/here'],
    ['here?ref={+path}', 'here?ref=/foo/bar'],
    ['{+x,hello,y}', '1024,Hello%20World!,768'],
    ['{+path,x}/here', '/foo/bar,1024/here'],
    ['X{#var}', 'X#value'],
    ['X{#hello}', 'X#Hello%20World!'],
    ['{#path,x}/here', '#/foo/bar,1024/here'],
    ['foo{#empty}', 'foo#'],
    ['foo{#undef}', 'foo'],
    ['X{.var}', 'X.value'],
    ['X{.x,y}', 'X.1024.768'],
    ['{.who}', '.fred'],
    ['{/who}', '/fred'],
    ['{/half,who}', '/50%25/fred'],
    ['{/var,empty}', '/value/'],
    ['{/var,undef}', '/value'],
    ['{/var,x}/here', '/value/1024/here'],
    ['{;x,y}', ';x=1024;y=768'],
    ['{;x,y,empty}', ';x=1024;y=768;empty'],
    ['{;v,undef,who}', ';v=6;who=fred'],
    ['{?x,y}', '?x=1024&y=768'],
    ['{?x,y,empty}', '?x=1024&y=768&empty='],
    ['{?x,undef}', '?x=1024'],
    ['?fixed=yes{&x}', '?fixed=yes&x=1024'],
    ['{&x,y,empty}', '&x=1024&y=768&empty='],
    ['tête://{var}', 't%C3%AAte://value'],
  ])('%s becomes %s, as in RFC 6570', (template, uri) => {
    expect(parseUriTemplate(template).expand(VALUES)).toBe(uri);
  });

  test('reserved expansion keeps percent-escapes unchanged', () => {
    expect(parseUriTemplate('{+path}').expand({ path: 'a%2Fb c%zz' })).toBe('a%2Fb%20c%25zz');
  });

  test('inherited members are not used as values', () => {
    expect(parseUriTemplate('a://{toString}').expand({})).toBe('a://');
  });
});

describe('matching', () => {
  test.each([
    ['note://{id}', 'note://42', { id: '42' }],
    ['note://{id}', 'note://caf%C3%A9%2fbar', { id: 'café/bar' }],
    ['note://{id}', 'note://café', { id: 'café' }],
    ['note://é/{id}', 'note://%c3%a9/1', { id: '1' }],
    ['user://{email}', 'user://ada@example.com', { email: 'ada@example.com' }],
    ['git://{owner}/{repo}/{+path}', 'git://a/b/src/x.ts', { owner: 'a', repo: 'b', path: 'src/x.ts' }],
    ['file:///{+path}/{name}.{type}', 'file:///a.b/c/d.txt', { path: 'a.b/c', name: 'd', type: 'txt' }],
    ['map://{x,y}', 'map://1,2', { x: '1', y: '2' }],
    ['x://a{/b,c}', 'x://a/1/2', { b: '1', c: '2' }],
    ['x://a{.type}', 'x://a.tar.gz', { type: 'tar.gz' }],
    ['x://a{#part}', 'x://a#one/two', { part: 'one/two' }],
    ['x://a{;b,c}', 'x://a;c;b=1', { b: '1', c: '' }],
    ['x://a{?q,n}', 'x://a?q=1&n=2', { q: '1', n: '2' }],
    ['x://a{?q,n}', 'x://a?n=2&q=', { q: '', n: '2' }],
    ['x://a{?q,n}', 'x://a', {}],
    ['x://a{?q}{&n}', 'x://a?n=2', { n: '2' }],
    ['x://a?v=1{&q}', 'x://a?v=1&q=a=b', { q: 'a=b' }],
    ['x://{+path}{?q}{#part}', 'x://a/b?q=1#c', { path: 'a/b', q: '1', part: 'c' }],
    ['x://{__proto__}', 'x://a', Object.fromEntries([['__proto__', 'a']])],
    ['{a}{b}', '%F0%9F%98%80%E2%82%AC%C3%A9', { a: '😀', b: '€é' }],
  ])('%s matches with its values in %s', (template, uri, values) => {
    expect(parseUriTemplate(template).match(uri)).toEqual(values);
  });

  test.each([
    ['note://{id}', 'note://', 'a value is missing'],
    ['note://{id}', 'note://a/b', 'a plain value ends at a slash'],
    ['note://{id}', 'NOTE://a', 'the letters differ'],
    ['note://{id}', 'note://%', 'an escape is cut off'],
    ['note://{id}', 'note://%zz', 'an escape is not hexadecimal'],
    ['note://{id}', 'note://%ff', 'an escape is not UTF-8'],
    ['note://{id}', 'note://\uD800', 'it is not well-formed text'],
    ['note://{id}/x', 'note://a/xy', 'something follows'],
    ['note://{id}', ' note://a', 'something precedes'],
    ['x://a{?q}', 'x://a?r=1', 'a parameter is unknown'],
    ['x://a{?q}', 'x://a?q=1&q=2', 'a parameter is repeated'],
    ['x://a{?q}', 'x://a?', 'a parameter has no name'],
    ['x://{+path}', `x://${'a'.repeat(8_192)}`, 'it is too long'],
    ['x://{+path}', `x://${'é'.repeat(4_000)}`, 'it is too long once encoded'],
  ])('%s does not match %s: %s', (template, uri) => {
    expect(parseUriTemplate(template).match(uri)).toBeUndefined();
  });

  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
  const plain = fc.stringMatching(/^[\w ~é€-]{1,20}$/);

  test.each([
    'x://{a}',
    'x://{a}/{b}/{c}',
    'x://{a,b,c}',
    'x://h{/a,b,c}',
    'x://h{;a,b,c}',
    'x://h{?a,b,c}',
    'x://h?d=1{&a,b,c}',
    'x://{a}{?b}{&c}',
    'x://{a}{/b}{;c}',
    'x://{a}/literal%20é/{b}{?c}',
  ])('matching the expansion of %s returns the original values, whatever they are', (template) => {
    const parsed = parseUriTemplate(template);
    fc.assert(
      fc.property(fc.record(Object.fromEntries(parsed.variables.map((name) => [name, text]))), (values) => {
        expect(parsed.match(parsed.expand(values))).toEqual(values);
      }),
    );
  });

  test.each(['x://{+a}', 'x://h{#a}', 'x://{b}/{+a}', 'x://{b}{.c}/{+a}', 'x://{+a}{?b}{#c}'])(
    'matching the expansion of %s returns the original values if they have no delimiters',
    (template) => {
      const parsed = parseUriTemplate(template);
      fc.assert(
        fc.property(
          fc.record(Object.fromEntries(parsed.variables.map((name) => [name, plain]))),
          (values) => {
            expect(parsed.match(parsed.expand(values))).toEqual(values);
          },
        ),
      );
    },
  );

  test('the values of a match expand to a URI that matches with the same values, however ambiguous the template', () => {
    const template = fc
      .array(fc.constantFrom('{v}', '{+v}', '{.v}', '{/v}', '{;v}', '{?v}', '{&v}', '{#v}', '-', '/', 'é'), {
        minLength: 1,
        maxLength: 8,
      })
      .map((pieces) => pieces.map((piece, index) => piece.replace('v', `v${index}`)).join(''));
    const uri = fc.string({
      unit: fc.constantFrom('a', '-', '/', '.', '?', '&', ';', '=', 'v0', 'v1', '%C3%A9'),
    });
    fc.assert(
      fc.property(template, uri, (pattern, address) => {
        const parsed = parseUriTemplate(pattern);
        const values = parsed.match(address);
        const again = values && parsed.match(parsed.expand(values));
        expect(again === undefined).toBe(values === undefined);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('matching never throws, for any URI', () => {
    const templates = ['{a}', '{+a}{b}', 'x:{a}{?b,c}', 'x:{;a}{/b}{#c}', '{.a}{&b}%C3%A9{c}'].map(
      parseUriTemplate,
    );
    const hostile = fc.string({
      unit: fc.constantFrom('%', '%C3', '%A9', '%f0', 'x:', '/', '?', 'a=', '&', '\uD800', 'é'),
    });
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (uri) => {
        for (const template of templates) expect(() => template.match(uri)).not.toThrow();
      }),
      { numRuns: propertyRuns() },
    );
  });

  test.each([
    ['many open values', Array.from({ length: 32 }, (_, index) => `{+v${index}}`).join('')],
    ['values between repeated literals', Array.from({ length: 32 }, (_, index) => `{+v${index}}a`).join('')],
    ['a long literal that almost fits everywhere', `{+v}${'a'.repeat(1_500)}b`],
    ['many runs of parameters', Array.from({ length: 32 }, (_, index) => `{?v${index}}a`).join('')],
  ])('%s match in bounded time on the longest URI', (_, template) => {
    const parsed = parseUriTemplate(`x:${template}!`);
    const started = performance.now();
    for (const unit of ['a', '?', 'a?'])
      expect(parsed.match(`x:${unit.repeat(8_190 / unit.length)}`)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('templates that are refused', () => {
  test.each([
    ['', 'must be text'],
    ['x://{a', 'opens a "{" that no "}" closes'],
    ['x://a}', 'has a "}" without a "{"'],
    ['x://{}', 'has no usable variable name in "{}"'],
    ['x://{a,}', 'has no usable variable name in "{a,}"'],
    ['x://{a-b}', 'has no usable variable name'],
    ['x://{{a}}', 'uses "{{", which is no operator'],
    ['x://{=a}', 'uses "{=", which is no operator'],
    ['x://{a*}', 'uses the modifier "*"'],
    ['x://{/a*}', 'uses the modifier "*"'],
    ['x://{a:3}', 'uses the modifier ":"'],
    ['x://{a}/{b,a}', 'names the variable "a" twice'],
    ['x://a b', 'holds " " outside of a variable; write it as "%20"'],
    ['x://a%2', 'holds a "%" that does not begin an encoded'],
    ['x://a%C3{b}', 'holds a "%" that does not begin an encoded'],
    [`x://${'a'.repeat(2_100)}`, 'the limit is 2048'],
    [Array.from({ length: 33 }, (_, index) => `{v${index}}`).join(''), 'the limit is 32'],
  ])('%s: %s', (template, complaint) => {
    expect(() => parseUriTemplate(template)).toThrow(
      expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(complaint) }),
    );
  });

  test('parsing any text returns a template or a refusal', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('{', '}', '+', ',', 'a', '%', '.', 'é', '\uD800') }),
        (text) => {
          try {
            parseUriTemplate(text);
          } catch (error) {
            expect(error).toMatchObject({ code: 'invalid_tool' });
          }
        },
      ),
    );
  });
});

test('the variables are listed in order', () => {
  expect(parseUriTemplate('x://{b}{/a}{?d,c.e}').variables).toEqual(['b', 'a', 'd', 'c.e']);
});

test.each([
  ['doc://{area}/{page}', {}, 'doc://{area}/{page}'],
  ['doc://{area}/{page}', { area: 'a/b' }, 'doc://a%2Fb/{page}'],
  ['doc://{area}/{page}', { area: 'a', page: '' }, 'doc://a/'],
  ['doc:///{+path}', { path: 'a/{b}' }, 'doc:///a/%7Bb%7D'],
  ['doc://x{/a,b}', { b: '1' }, 'doc://x/{a}/1'],
  ['doc://{id}{?q,r}', { id: '1' }, 'doc://1'],
  ['doc://{id}{?q,r}', { r: '2' }, 'doc://{id}?r=2'],
])('%s filled with %j is %s', (template, values, filled) => {
  expect(parseUriTemplate(template).fill(values as Record<string, string>)).toBe(filled);
});
