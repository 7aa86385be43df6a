import { isOnlyPlaceholder, looksRandom } from './looks-random.ts'

/** How one kind of secret is recognized. */
export interface SecretShape {
  /** The name that is shown instead of the secret. */
  readonly kind: string
  /** A match begins with one of these; at least three characters. A text without any of them has no such secret. */
  readonly anchors: readonly string[]
  /**
   * Matches from an anchor on. A first group is the part before the secret, which may be shown. An unlimited repetition
   * must come last, and `isReal` must check the rest: a pattern that reads far ahead and then fails would do so again
   * from every anchor in between, which is not linear.
   */
  readonly pattern: RegExp
  /** `name`: a name before the secret announces it, in upper or lower case, also as the end of a longer word. */
  readonly anchoredBy: 'itself' | 'name'
  /** Has to match the 48 characters after the anchor. Used for anchors that are frequent in ordinary texts. */
  readonly lookahead?: RegExp
  /** The final check of a match. `next` is the character after it; empty at the end of the text. */
  readonly isReal: (secret: string, next: string) => boolean
}

const notPlaceholder = (secret: string): boolean => !isOnlyPlaceholder(secret)
const hasLettersAndDigits = (secret: string): boolean =>
  notPlaceholder(secret) && /\d/.test(secret) && /[A-Za-z]{2}/.test(secret)

/** Sample keys of the AWS documentation, without their prefix. Any other key that ends in EXAMPLE may be real. */
const AWS_SAMPLES: ReadonlySet<string> = new Set([
  ...['IOSFODNN7EXAMPLE', 'I44QH8DHBEXAMPLE'],
  ...['wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY'],
])

const isAwsSample = (text: string): boolean => AWS_SAMPLES.has(text) || /^(.)\1*$/.test(text)

/** The key id, and perhaps the secret after it. It is real unless both are samples. */
function isAwsKey(found: string): boolean {
  const secret = found.slice(20).replace(/^[^A-Za-z0-9/+]+/, '')
  return !isAwsSample(found.slice(4, 20)) || (secret !== '' && !isAwsSample(secret))
}

/** Three parts, or the first two of a truncated one; five if it is encrypted. */
const isJwt = ({ length, 1: second = '' }: readonly string[]): boolean =>
  length === 5 || (length > 1 && second.startsWith('eyJ') && second.length >= 8)

const KEY_END = '(?![A-Za-z0-9])'

function shape(kind: string, anchors: readonly string[], rest: string): SecretShape {
  const starts = anchors.map((anchor) => anchor.replaceAll('.', '\\.')).join('|')
  return {
    kind,
    anchors,
    pattern: new RegExp(`(?:${starts})${rest}`, 'y'),
    anchoredBy: 'itself',
    isReal: notPlaceholder,
  }
}

const KEYS: readonly SecretShape[] = [
  shape('GitHub token', ['ghp_', 'gho_', 'ghu_', 'ghr_'], '[A-Za-z0-9_]{30,}'),
  // Tokens of installations may contain a JWT.
  shape('GitHub token', ['ghs_'], '[A-Za-z0-9_]{30,}[A-Za-z0-9_.-]*'),
  shape('GitHub token', ['github_pat_'], '[A-Za-z0-9_]{22,}'),
  shape('GitLab token', ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-', 'glsoat-'], '[\\w-]{20,}(?:\\.[\\w-]+)*'),
  {
    ...shape('Slack token', ['xoxa-', 'xoxb-', 'xoxe-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'], '[\\w-]{10,}'),
    isReal: (secret) => notPlaceholder(secret) && /\d/.test(secret),
  },
  shape('Slack token', ['xoxe.'], 'xox[bp]-[\\w-]{10,}'),
  shape('Slack hook', ['hooks.slack.com'], '\\\\*/(?:services|workflows|triggers)[\\w/\\\\-]{16,}'),
  shape('Discord hook', ['discord.com', 'discordapp.com'], '\\\\*/api\\\\*/webhooks[\\w/\\\\-]{40,}'),
  shape('Anthropic key', ['sk-ant-'], '[\\w-]{20,}'),
  shape('OpenRouter key', ['sk-or-v1-'], '[\\w-]{20,}'),
  shape('OpenAI key', ['sk-proj-', 'sk-svcacct-', 'sk-admin-'], '[\\w-]{20,}'),
  { ...shape('OpenAI key', ['sk-'], '[A-Za-z0-9]{20,}'), isReal: hasLettersAndDigits },
  shape('Groq key', ['gsk_'], '[A-Za-z0-9]{40,}'),
  shape('xAI key', ['xai-'], '[A-Za-z0-9]{40,}'),
  shape('Perplexity key', ['pplx-'], '[A-Za-z0-9]{40,}'),
  shape('Replicate token', ['r8_'], '[A-Za-z0-9]{37,}'),
  shape('Hugging Face token', ['hf_'], '[A-Za-z0-9]{30,}'),
  // Often the secret follows directly, as in the file that AWS provides.
  {
    ...shape(
      'AWS key',
      ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
      `[A-Z0-9]{16}${KEY_END}(?:[",':;\\s\\\\]{1,6}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=]))?`,
    ),
    isReal: isAwsKey,
  },
  shape('Google API key', ['AIza'], '[\\w-]{35}(?![\\w-])'),
  shape('Google token', ['ya29.'], '[\\w.-]{20,}'),
  shape('Google client secret', ['GOCSPX-'], '[\\w-]{20,}'),
  shape('Stripe key', ['sk_live_', 'rk_live_', 'whsec_'], '[A-Za-z0-9+/]{16,}={0,2}'),
  shape(
    'Twilio key',
    [...'0123456789abcdef'].map((digit) => `SK${digit}`),
    `[0-9a-f]{31}${KEY_END}`,
  ),
  shape('SendGrid key', ['SG.'], '[\\w-]{16,}\\.[\\w-]{16,}'),
  shape('npm token', ['npm_'], '[A-Za-z0-9]{36,}'),
  shape('PyPI token', ['pypi-'], '[\\w-]{50,}'),
  shape('RubyGems key', ['rubygems_'], '[0-9a-f]{40,}'),
  shape('Docker token', ['dckr_pat_', 'dckr_oat_'], '[\\w-]{20,}'),
  shape('DigitalOcean token', ['dop_v1_', 'doo_v1_', 'dor_v1_'], '[0-9a-f]{40,}'),
  shape('Databricks token', ['dapi'], `[0-9a-f]{32}(?:-\\d)?${KEY_END}`),
  shape('Vault token', ['hvs.', 'hvb.'], '[\\w-]{24,}'),
  shape('Grafana token', ['glsa_', 'glc_'], '[\\w+/=-]{32,}'),
  shape('Sentry token', ['sntrys_', 'sntryu_'], '[\\w+/=-]{32,}'),
  shape('Linear key', ['lin_api_'], '[A-Za-z0-9]{32,}'),
  shape('Notion token', ['ntn_'], '[A-Za-z0-9]{40,}'),
  shape('Atlassian token', ['ATATT3'], '[\\w=-]{50,}'),
  shape('Shopify token', ['shpat_', 'shpca_', 'shppa_', 'shpss_'], '[0-9a-fA-F]{32,}'),
  shape('Figma token', ['figd_'], '[\\w-]{32,}'),
  shape('Supabase key', ['sbp_', 'sb_secret_'], '[\\w-]{20,}'),
  shape('age key', ['AGE-SECRET-KEY-1'], '[0-9A-Z]{50,}'),
  shape('Sallyport token', ['spa_', 'spo_'], '[\\w-]{43,}'),
  { ...shape('JWT', ['eyJ'], '[\\w-]{10,}(?:\\.[\\w-]*){0,4}'), isReal: (text) => isJwt(text.split('.')) },
]

// Line ends may be escaped, also more than once: JSON inside JSON.
const SPACES = '(?:\\s|\\\\+[nrt])*'
const HEADER = '[A-Za-z-]{1,40}: [^\\r\\n\\\\]{1,100}(?:\\r?\\n|\\\\+[nr])+'

const PRIVATE_KEY: SecretShape = {
  ...shape(
    'private key',
    ['-----BEGIN '],
    `(?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----${SPACES}(?:${HEADER}){0,6}${SPACES}[A-Za-z0-9+/=]{32,}` +
      `[A-Za-z0-9+/=\\s\\\\]*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?`,
  ),
  anchoredBy: 'name',
}

/** User and password before a host. Slashes may be escaped. */
const URL_LOGIN: SecretShape = {
  kind: 'password in a URL',
  anchors: ['://', ':\\/', ':\\\\/'],
  pattern: /(:(?:\\*\/){2}[^\s/\\"'`<>@:]{0,100}:)[^\s/\\"'`<>@]{3,200}(?=@[\w[])/y,
  anchoredBy: 'name',
  lookahead: /^(?:\\*\/)?[^\s/\\"'`<>@:]*(?:$|:[^\s/\\"'`<>@]*(?:$|@))/,
  isReal: (secret) => notPlaceholder(secret) && !/^(?:[$%{[*]|pass(?:word|wd)?$|secret$|token$|•)/i.test(secret),
}

const QUOTES = '["\'`\\\\]{0,6}'
const ASSIGNMENT = `${QUOTES}[ \\t]{0,4}(?:=>|:=|[:=])[ \\t]{0,4}${QUOTES}`
/** For bytes of JSON, in which a tab is escaped and there may be white space around the colon. */
const ASSIGNMENT_LOOKAHEAD = /^(?:[\s"'`\\]|\\t){0,16}[:=]/

const NAMES = [
  ...['password', 'passwd', 'passphrase', 'client_secret', 'app_secret', 'jwt_secret', 'secret_key', 'secret'],
  ...['access_key', 'api_key', 'private_key', 'encryption_key', 'signing_key', 'account_key'],
  ...['access_token', 'api_token', 'auth_token', 'bot_token', 'refresh_token', 'secret_token', 'session_token'],
]

/** The spellings of a name in different languages. */
const spellings = (name: string): readonly string[] =>
  name.includes('_') ? [name, name.replace('_', ''), name.replace('_', '-')] : [name]

const isSized = ({ length }: string): boolean => length >= 12 && length <= 4_096

/** A call, an index or a URL: where the secret comes from, not the secret itself. */
const isExpression = (text: string, next: string): boolean => /[([{]/.test(next) || /^[a-z]+:\/\//i.test(text)

const SPELLINGS = NAMES.flatMap(spellings)

/** A value after a secret name. Ordinary words often follow such names, so only random values count. */
const NAMED_SECRET: SecretShape = {
  kind: 'secret under its name',
  anchors: SPELLINGS,
  pattern: new RegExp(`((?:${SPELLINGS.join('|')})${ASSIGNMENT})[^\\s"'\`\\\\,;&<>(){}|[\\]]+`, 'iy'),
  anchoredBy: 'name',
  lookahead: ASSIGNMENT_LOOKAHEAD,
  isReal: (secret, next) => isSized(secret) && !isExpression(secret, next) && looksRandom(secret),
}

const AZURE_KEY: SecretShape = {
  kind: 'Azure key',
  anchors: ['accountkey=', 'sharedaccesskey='],
  pattern: /((?:account|sharedaccess)key=)[A-Za-z0-9+/\\]{40,}={0,2}/iy,
  anchoredBy: 'name',
  isReal: notPlaceholder,
}

const BEARER: SecretShape = {
  kind: 'bearer token',
  anchors: ['bearer '],
  pattern: /(bearer[ \t]+)[\w.~+/-]{16,}={0,2}/iy,
  anchoredBy: 'name',
  lookahead: /^\s*[\w.~+/-]{16}/,
  isReal: looksRandom,
}

const LOGIN_HEADER: SecretShape = {
  kind: 'login in a header',
  anchors: ['authorization'],
  pattern: new RegExp(`(authorization${ASSIGNMENT}basic[ \\t]+)[A-Za-z0-9+/]{8,}={0,2}`, 'iy'),
  anchoredBy: 'name',
  lookahead: ASSIGNMENT_LOOKAHEAD,
  isReal: notPlaceholder,
}

export const SECRET_SHAPES: readonly SecretShape[] = [
  ...KEYS,
  PRIVATE_KEY,
  AZURE_KEY,
  URL_LOGIN,
  BEARER,
  LOGIN_HEADER,
  NAMED_SECRET,
]
