/** How one kind of secret is recognised. */
export interface SecretFormat {
  /** Replaces the secret in the text as `[redacted:<id>]`. */
  readonly id: string;
  readonly description: string;
  /** Texts of which one is always part of such a secret, or directly before it. */
  readonly hints: readonly string[];
  /** Matches the secret itself, globally. */
  readonly pattern: RegExp;
}

// Order matters if one format could match inside another: the longer one comes first.
/** The documented token formats that are removed from results, errors and the log. */
export const secretFormats: readonly SecretFormat[] = [
  {
    id: 'private-key',
    description: 'A private key in PEM form, with or without its last line.',
    hints: ['-----BEGIN '],
    pattern:
      /-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\w+/=\s,:.\\-]*?(?:-----END [A-Z ]{0,40}-----|(?![\w+/=\s,:.\\-]))/g,
  },
  {
    id: 'url-password',
    description: 'The password in a URL such as postgres://user:password@host or amqp://user:password@host.',
    hints: ['://'],
    pattern: /(?<=:\/\/[^\s:/@]{0,128}:)[^\s/"'<>]{1,256}(?=@)/g,
  },
  {
    id: 'authorization',
    description: 'The credentials of an Authorization header: Bearer, Basic or token.',
    hints: ['uthorization', 'UTHORIZATION'],
    pattern:
      /(?<=(?:[Aa]uthorization|AUTHORIZATION)[\\"':=, ]{1,8}(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Tt]oken) {1,2})[\w.~+/=:-]{4,}/g,
  },
  {
    id: 'jwt',
    description: 'A JSON Web Token.',
    hints: ['eyJ'],
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  },
  {
    id: 'github',
    description: 'A GitHub token: ghp_, gho_, ghu_, ghs_ or ghr_ and 36 letters or more.',
    hints: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    pattern: /gh[pousr]_[A-Za-z0-9]{36,255}/g,
  },
  {
    id: 'github-fine-grained',
    description: 'A fine-grained GitHub token: github_pat_ and what follows.',
    hints: ['github_pat_'],
    pattern: /github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/g,
  },
  {
    id: 'gitlab',
    description: 'A GitLab token: glpat-, gldt-, glrt- and the like, and 20 letters or more.',
    hints: ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-', 'gloas-'],
    pattern: /gl(?:pat|dt|rt|ptt|cbt|oas)-[A-Za-z0-9_-]{20,}/g,
  },
  {
    id: 'aws-access-key',
    description: 'An AWS access key id: AKIA or ASIA and 16 letters.',
    hints: ['AKIA', 'ASIA'],
    pattern: /(?<![A-Za-z0-9])A[KS]IA[A-Z2-7]{16}(?![A-Za-z0-9])/g,
  },
  {
    id: 'aws-secret-key',
    description: 'An AWS secret access key next to its name.',
    hints: ['ecret_access_key', 'ECRET_ACCESS_KEY', 'ecretAccessKey'],
    pattern:
      /(?<=(?:[Ss]ecret_access_key|SECRET_ACCESS_KEY|[Ss]ecretAccessKey)[\\"':=>\s]{1,8})[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/g,
  },
  {
    id: 'google',
    description: 'A Google API key: AIza and 35 letters.',
    hints: ['AIza'],
    pattern: /AIza[A-Za-z0-9_-]{35}/g,
  },
  {
    id: 'google-oauth',
    description: 'A Google OAuth client secret: GOCSPX- and 28 letters.',
    hints: ['GOCSPX-'],
    pattern: /GOCSPX-[A-Za-z0-9_-]{28}/g,
  },
  {
    id: 'slack',
    description: 'A Slack token: xoxb-, xoxp-, xoxa-, xoxr-, xoxs-, xoxe- or xapp-.',
    hints: ['xox', 'xapp-'],
    pattern: /(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{10,}/g,
  },
  {
    id: 'slack-webhook',
    description: 'The secret path of a Slack webhook.',
    hints: ['hooks.slack.com/'],
    pattern: /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9/_-]{20,}/g,
  },
  {
    id: 'stripe',
    description: 'A Stripe key: sk_live_, rk_live_, sk_test_, rk_test_ or whsec_.',
    hints: ['sk_live_', 'rk_live_', 'sk_test_', 'rk_test_', 'whsec_'],
    pattern: /(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}/g,
  },
  {
    id: 'anthropic',
    description: 'An Anthropic key: sk-ant- and what follows.',
    hints: ['sk-ant-'],
    pattern: /sk-ant-[A-Za-z0-9_-]{20,}/g,
  },
  {
    id: 'openai',
    description: 'An OpenAI key: sk- and 32 letters or more, or sk-proj-, sk-svcacct- and the like.',
    hints: ['sk-'],
    pattern: /(?<![A-Za-z0-9])sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|[A-Za-z0-9]{32,})/g,
  },
  {
    id: 'npm',
    description: 'An npm token: npm_ and 36 letters.',
    hints: ['npm_'],
    pattern: /npm_[A-Za-z0-9]{36}/g,
  },
  {
    id: 'pypi',
    description: 'A PyPI token: pypi-AgE and what follows.',
    hints: ['pypi-AgE'],
    pattern: /pypi-AgE[A-Za-z0-9_-]{50,}/g,
  },
  {
    id: 'sendgrid',
    description: 'A SendGrid key: SG. and two parts.',
    hints: ['SG.'],
    pattern: /SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/g,
  },
  {
    id: 'twilio',
    description: 'A Twilio API key: SK and 32 hexadecimal digits.',
    hints: ['SK'],
    pattern: /(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])/g,
  },
  {
    id: 'azure-storage',
    description: 'An Azure account key behind AccountKey= or SharedAccessKey=.',
    hints: ['AccountKey=', 'SharedAccessKey='],
    pattern: /(?<=(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{43,86}={1,2}/g,
  },
  {
    id: 'digitalocean',
    description: 'A DigitalOcean token: dop_v1_, doo_v1_ or dor_v1_ and 64 hexadecimal digits.',
    hints: ['dop_v1_', 'doo_v1_', 'dor_v1_'],
    pattern: /do[opr]_v1_[0-9a-f]{64}/g,
  },
  {
    id: 'hugging-face',
    description: 'A Hugging Face token: hf_ and 34 letters or more.',
    hints: ['hf_'],
    pattern: /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{34,}/g,
  },
  {
    id: 'notion',
    description: 'A Notion token: ntn_ and 43 letters or more, or secret_ and 43 letters.',
    hints: ['ntn_', 'secret_'],
    pattern: /(?<![A-Za-z0-9])(?:ntn_[A-Za-z0-9]{43,}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9]))/g,
  },
  {
    id: 'linear',
    description: 'A Linear key: lin_api_ and 40 letters.',
    hints: ['lin_api_'],
    pattern: /lin_api_[A-Za-z0-9]{40}/g,
  },
  {
    id: 'toolcrib',
    description: 'A key of a Toolcrib server: tck_ or tc_ and 20 letters or more.',
    hints: ['tck_', 'tc_'],
    pattern: /(?<![A-Za-z0-9])tck?_[A-Za-z0-9_-]{20,}/g,
  },
];

/**
 * Whether a text may hold one of these secrets. Looks for the rarest character of each hint, and only then at
 * those around it: twice as fast as an alternation of all hints.
 */
export const secretHint =
  /[_:.IJKGzZB-](?:(?<=_)(?<=gh[pousr]_|hub_pat_|[sr]k_live_|[sr]k_test_|whsec_|npm_|do[opr]_v1_|hf_|ntn_|ecret_|ECRET_|lin_api_|tck?_)|(?<=-)(?<=gl(?:pat|dt|rt|ptt|cbt|oas)-|GOCSPX-|xapp-|xox[abeprs]-|sk-|pypi-)|(?<=:)\/\/|(?<=eyJ|A[KS]?I|SK|AccountK|AccessK|SG|uthoriz|UTHORIZ|hooks\.|-----B))/;
