import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { secretFormats } from './secret-formats.ts';
import { redactPatterns, Secrets } from './secrets.ts';

const letters = (count: number): string => 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0c'.repeat(9).slice(0, count);
const upper = (count: number): string => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.slice(0, count);
const hex = (count: number): string => '0123456789abcdef'.repeat(9).slice(0, count);

// What must be taken out, what it stands in, and something alike that must stay.
const cases: Readonly<Record<string, readonly [secret: string, around: string, nearMiss: string]>> = {
  'private-key': [
    `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${letters(64)}\n${letters(20)}==\n-----END RSA PRIVATE KEY-----`,
    'key: *, kept!',
    `-----BEGIN CERTIFICATE-----\n${letters(64)}\n-----END CERTIFICATE-----`,
  ],
  'url-password': ['s3cret!', 'postgres://app:*@db.internal:5432/main', 'https://example.com:8443/@home'],
  authorization: ['dXNlcjpwYXNz', 'Authorization: Basic *', 'Authorization: is required'],
  jwt: [`eyJ${letters(20)}.eyJ${letters(40)}.${letters(43)}`, 'token=*;', `eyJ${letters(20)}.${letters(40)}`],
  github: [`ghp_${letters(36)}`, 'GITHUB_TOKEN=*', 'ghp_short and ghx_' + letters(36)],
  'github-fine-grained': [
    `github_pat_${letters(22)}_${letters(59)}`,
    '"*"',
    'github_pat_tokens_are_fine_grained',
  ],
  gitlab: [`glpat-${letters(20)}`, 'PRIVATE-TOKEN: *', 'glpat-short'],
  'aws-access-key': [`AKIA${upper(16)}`, 'id *.', `AKIA${upper(17)}`],
  'aws-secret-key': [letters(40), 'aws_secret_access_key = *', `aws_secret_access_key = ${letters(41)}`],
  google: [`AIza${letters(35)}`, 'key=*', `AIza${letters(34)}`],
  'google-oauth': [`GOCSPX-${letters(28)}`, '"client_secret":"*"', `GOCSPX-${letters(27)}`],
  slack: [`xoxb-123456789012-${letters(24)}`, 'slack *', 'xoxb-short'],
  'slack-webhook': [
    `T0000AAAA/B0000BBBB/${letters(24)}`,
    'https://hooks.slack.com/services/*',
    'https://hooks.slack.com/services/help',
  ],
  stripe: [`sk_live_${letters(24)}`, 'stripe: *', `pk_live_${letters(24)} and sk_live_short`],
  anthropic: [`sk-ant-api03-${letters(40)}`, 'ANTHROPIC_API_KEY=*', 'sk-ant-hill'],
  openai: [`sk-proj-${letters(48)}`, 'OPENAI_API_KEY=*', `task-${letters(40)} and sk-${letters(20)}`],
  npm: [`npm_${letters(36)}`, '_authToken=*', `npm_config_registry and npm_${letters(35)}`],
  pypi: [`pypi-AgE${letters(60)}`, 'password = *', `pypi-${letters(60)}`],
  sendgrid: [`SG.${letters(22)}.${letters(43)}`, 'key *', `SG.${letters(22)}.${letters(42)}`],
  twilio: [`SK${hex(32)}`, 'sid *', `SK${hex(33)} and DISK${hex(32)}`],
  'azure-storage': [`${letters(86)}==`, 'AccountName=x;AccountKey=*;Endpoint=y', 'AccountKey=none'],
  digitalocean: [`dop_v1_${hex(64)}`, 'DO_TOKEN=*', `dop_v1_${hex(63)}`],
  'hugging-face': [`hf_${letters(34)}`, 'HF_TOKEN=*', `hf_${letters(33)} and half_${letters(34)}`],
  notion: [`ntn_${letters(46)}`, 'notion *', `ntn_${letters(42)} and secret_${letters(44)}`],
  linear: [`lin_api_${letters(40)}`, 'LINEAR_API_KEY=*', `lin_api_${letters(39)}`],
  toolcrib: [`tck_${letters(36)}`, 'key *', `tck_short and etc_${letters(32)}`],
};

describe('token formats', () => {
  const secrets = new Secrets();

  test('E4 control: every secret format has a test, and there are at least twenty', () => {
    expect(secretFormats.length).toBeGreaterThanOrEqual(20);
    expect(Object.keys(cases).toSorted()).toEqual(secretFormats.map(({ id }) => id).toSorted());
  });

  test.each(Object.entries(cases))(
    'E4 a secret of the format %s is redacted, and the text around it stays',
    (id, [secret, around]) => {
      expect(secrets.redact(around.replace('*', () => secret))).toBe(around.replace('*', `[redacted:${id}]`));
    },
  );

  test.each(Object.entries(cases))('text that is similar to the format %s stays', (_id, [, , nearMiss]) => {
    expect(secrets.redact(nearMiss)).toBe(nearMiss);
  });

  test.each<[text: string, redacted: string]>([
    ['{"authorization":"Bearer abc.def"}', '{"authorization":"Bearer [redacted:authorization]"}'],
    [
      '{\\"Authorization\\": \\"token abcdef\\"}',
      '{\\"Authorization\\": \\"token [redacted:authorization]\\"}',
    ],
    ['amqp://guest:p@ss@mq', 'amqp://guest:[redacted:url-password]@mq'],
    ['redis://:pw@cache:6379', 'redis://:[redacted:url-password]@cache:6379'],
    [`secret_${letters(43)}`, '[redacted:notion]'],
    [`sk-${letters(48)}`, '[redacted:openai]'],
    [`rk_live_${letters(24)}`, '[redacted:stripe]'],
    [`tc_${letters(32)}`, '[redacted:toolcrib]'],
    [`ASIA${upper(16)}`, '[redacted:aws-access-key]'],
    [`"SecretAccessKey": "${letters(40)}"`, '"SecretAccessKey": "[redacted:aws-secret-key]"'],
    [`-----BEGIN PRIVATE KEY-----\\n${letters(64)}`, '[redacted:private-key]'],
  ])('E4 the secret in %s is redacted', (text, redacted) => {
    expect(secrets.redact(text)).toBe(redacted);
  });

  test('redacting a text twice gives the same as once', () => {
    const all = Object.values(cases).map(([secret, around]) => around.replace('*', () => secret));
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...all), fc.string()), { maxLength: 6 }), (parts) => {
        const once = secrets.redact(parts.join(' '));
        expect(secrets.redact(once)).toBe(once);
      }),
      { numRuns: propertyRuns() },
    );
  });

  test('A15 long hostile text is redacted in limited time', () => {
    const starts = secretFormats.flatMap(({ hints }) => hints);
    for (const start of [...starts, 'eyJ-eyJ.', '-----BEGIN PRIVATE KEY-----', 'a://b:', 'Bearer '])
      expect(secrets.redact(start.repeat(100_000 / start.length)).length).toBeGreaterThan(0);
  });
});

describe('secrets in use', () => {
  const secret = 'pä55/w+rd "quoted" ?x';

  const forms: readonly [form: string, text: string][] = [
    ['as it is', secret],
    ['JSON', JSON.stringify({ a: secret })],
    ['a URL', `https://x.example/?k=${encodeURIComponent(secret)}`],
    ['a form', new URLSearchParams({ k: secret }).toString()],
    ['hexadecimal', Buffer.from(secret).toString('hex')],
    ['upper-case hexadecimal', Buffer.from(secret).toString('hex').toUpperCase()],
    ['base64', Buffer.from(secret).toString('base64')],
    ['base64url', Buffer.from(secret).toString('base64url')],
    ['base64 one letter in', Buffer.from(`u${secret}!`).toString('base64')],
    ['base64 two letters in', Buffer.from(`us${secret}!`).toString('base64')],
    ['base64 three letters in', Buffer.from(`use${secret}!`).toString('base64')],
  ];

  // One secret that every way of writing writes differently.
  const awkward = `S3cr&t<Pa/ss>word!(prod)~1 "it's" é*`;
  const percent = (kept: RegExp): string =>
    Array.from(Buffer.from(awkward), (byte) => {
      const letter = String.fromCharCode(byte);
      return kept.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    }).join('');
  const entities = awkward.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const inJson = (escaped: RegExp): string =>
    JSON.stringify(awkward).replaceAll(
      escaped,
      (letter) => String.raw`\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  const wrapped = (
    width: number,
    end: string,
    lead = 'The password of the database, in case you need it: ',
  ): string =>
    Buffer.from(`${lead}${awkward}, and more about it that fills another line or two of this text.`)
      .toString('base64')
      .replaceAll(new RegExp(`.{${width}}`, 'g'), `$&${end}`);

  test.each<[form: string, text: string]>([
    ['JSON as Go writes it', inJson(/[<>&]/g)],
    ['JSON as Gson writes it', inJson(/[<>&'=]/g)],
    ['JSON as Python writes it', inJson(/[^ -~]/g)],
    ['JSON as Python writes it for pages', inJson(/[<>&]|[^ -~]/g)],
    ['JSON as PHP writes it', inJson(/[^ -~]/g).replaceAll('/', String.raw`\/`)],
    ['a form', new URLSearchParams({ k: awkward }).toString()],
    [
      'a form in small letters',
      new URLSearchParams({ k: awkward }).toString().replaceAll(/%../g, (code) => code.toLowerCase()),
    ],
    ['encodeURI', encodeURI(awkward)],
    ['quote of Python', percent(/[A-Za-z0-9_.~/-]/)],
    ['quote_plus of Python', percent(/[A-Za-z0-9_.~-]/).replaceAll('%20', '+')],
    ['urlencode of PHP', percent(/[A-Za-z0-9_.-]/).replaceAll('%20', '+')],
    ['XML text', entities],
    ['a page', entities.replaceAll('"', '&quot;').replaceAll("'", '&#39;')],
    ['a page of Python', entities.replaceAll('"', '&quot;').replaceAll("'", '&#x27;')],
    ['a page of PHP', entities.replaceAll('"', '&quot;').replaceAll("'", '&#039;')],
    ['a page of Go', entities.replaceAll('"', '&#34;').replaceAll("'", '&#39;')],
    ['XML attributes', entities.replaceAll('"', '&quot;').replaceAll("'", '&apos;')],
    ['base64 of mail', wrapped(76, '\r\n')],
    ['base64 of a command', wrapped(76, '\n')],
    ['base64 in PEM', wrapped(64, '\n')],
    ['base64 in YAML', wrapped(64, '\n    ')],
    ['base64 in short lines', wrapped(20, '\n')],
  ])('E4 a secret in use is redacted, and the text around it stays: %s', (_form, text) => {
    const secrets = new Secrets();
    expect(secrets.redact(text)).toBe(text);
    secrets.add(awkward);
    const redacted = secrets.redact(`before ${text} after`);
    expect(redacted).toMatch(/^before [^]*\[redacted:secret\][^]* after$/);
    const plain = text.includes('%') || text.includes('&') || text.includes('\\u');
    if (plain) expect(redacted).not.toMatch(/S3cr|word/);
    else expect(fromBase64(redacted)).not.toMatch(/S3cr|word!|\(prod/);
  });

  test('E4 a secret in use is found in base64 with line breaks at any place', () => {
    const secrets = new Secrets();
    secrets.add(awkward);
    for (let shift = 0; shift < 80; shift++)
      expect(secrets.redact(wrapped(76, '\n', 'x'.repeat(shift)))).toContain('[redacted:secret]');
  });

  test('base64 without a secret keeps its line breaks', () => {
    const secrets = new Secrets();
    const text = `key:\n${wrapped(76, '\n')}\n`;
    secrets.add('something else');
    expect(secrets.redact(text)).toBe(text);
  });

  test('A15 text with very long lines or very many lines is redacted in limited time', () => {
    const secrets = new Secrets();
    secrets.add(awkward);
    for (const text of [
      'A'.repeat(500_000),
      `${'A'.repeat(16)}\n`.repeat(30_000),
      `${'A'.repeat(16)}\n${' '.repeat(400_000)}`,
    ])
      expect(secrets.redact(text)).toBe(text);
  });

  test('E4 a number with the digits of a secret is redacted, and other numbers stay', () => {
    const secrets = new Secrets();
    expect(secrets.redactNumber(123456789012)).toBe(123456789012);
    const forget = secrets.add('123456789012');
    expect(secrets.redactNumber(123456789012)).toBe('[redacted:secret]');
    expect(secrets.redactNumber(-123456789012.5)).toBe('-[redacted:secret].5');
    expect(secrets.redactNumber(123456789013)).toBe(123456789013);
    forget();
    expect(secrets.redactNumber(123456789012)).toBe(123456789012);
  });

  test.each(forms)('E4 a secret in use is redacted: %s', (_form, text) => {
    const secrets = new Secrets();
    expect(secrets.redact(text)).toBe(text);
    secrets.add(secret);
    const redacted = secrets.redact(text);
    expect(redacted).toContain('[redacted:secret]');
    expect(redacted.length).toBeLessThan(text.length);
  });

  test('a secret that is too short to search for is not redacted', () => {
    const secrets = new Secrets();
    secrets.add('1234567');
    expect(secrets.redact('call 1234567 now')).toBe('call 1234567 now');
  });

  test('a secret is redacted until its last owner releases it', () => {
    const secrets = new Secrets();
    const [forget, forgetToo] = [secrets.add('correct horse'), secrets.add('correct horse')];
    forget();
    forget();
    expect(secrets.redact('a correct horse')).toBe('a [redacted:secret]');
    forgetToo();
    expect(secrets.redact('a correct horse')).toBe('a correct horse');
  });

  test('E4 every secret in use is redacted, at any place and in any number', () => {
    const word = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), fc.array(fc.string()), (planted, noise) => {
        const secrets = new Secrets();
        for (const each of planted) secrets.add(each);
        const text = planted.map((each, index) => `${noise[index] ?? ''}${each}`).join('|');
        const redacted = secrets.redact(text);
        for (const each of planted)
          if (!'[redacted:secret]|'.repeat(9).includes(each))
            expect(redacted.split(/[|]/)).not.toContain(each);
      }),
      { numRuns: propertyRuns() },
    );
  });
});

describe('configured patterns', () => {
  test('text that a pattern matches is replaced by the name of the pattern', () => {
    const secrets = new Secrets({ ticket: 'ACME-[0-9]{4,}', iban: '\\bDE\\d{20}\\b' });
    expect(secrets.redact('see ACME-12345, pay DE12345678901234567890.')).toBe(
      'see [redacted:ticket], pay [redacted:iban].',
    );
    expect(secrets.redact('ACME-1')).toBe('ACME-1');
  });

  test('A15 a pattern that stalls a backtracking engine is matched in limited time', () => {
    const redact = redactPatterns({ slow: '^(a+)+$' })!;
    expect(redact(`${'a'.repeat(60)}!`)).toBe(`${'a'.repeat(60)}!`);
  });

  test('an empty match replaces nothing, and a dollar in a name has no special meaning', () => {
    expect(redactPatterns({ $1: 'x*' })!('axxb')).toBe('a[redacted:$1]b');
  });

  test.each(['(', '(a)\\1', '(?=a)b'])('the pattern %s is refused, and the error has its name', (pattern) => {
    expect(() => new Secrets({ mine: pattern })).toThrow('The pattern "mine" cannot be used');
  });

  test('without patterns there is no redaction function', () => {
    expect(redactPatterns({})).toBeUndefined();
  });
});

test('every secret format is listed in the documentation', () => {
  const page = readFileSync(new URL('../../docs/stages/sanitize.md', import.meta.url), 'utf8');
  for (const { id, description } of secretFormats) expect(page).toContain(`| \`${id}\` | ${description} |`);
});

/** What the base64 in a text says, line breaks or not. */
function fromBase64(text: string): string {
  return (text.replaceAll(/\s+/g, '').match(/[A-Za-z0-9+/=]{4,}/g) ?? [])
    .flatMap((run) => [0, 1, 2, 3].map((from) => Buffer.from(run.slice(from), 'base64').toString('latin1')))
    .join(' ');
}
