/** Words of a name each of which tells that its value is secret. */
const SECRET_WORDS = new Set([
  ...['password', 'passwords', 'passwd', 'pwd', 'passphrase', 'passcode', 'pin', 'otp', 'secret', 'secrets'],
  ...['token', 'tokens', 'jwt', 'bearer', 'authorization', 'auth', 'cookie', 'cookies', 'credential', 'credentials'],
  ...['apikey', 'apikeys', 'privatekey', 'secretkey', 'accesskey', 'clientsecret', 'authtoken', 'accesstoken'],
])

/** What makes a key a secret one. */
const SECRET_KEY_WORDS = new Set([
  'api',
  'private',
  'secret',
  'access',
  'encryption',
  'signing',
  'account',
  'master',
  'ssh',
])

/** Most names are none, and this tells at once. */
const MAY_BE_SECRET = /pass|pwd|pin|otp|secret|token|jwt|bearer|auth|cookie|credential|key/i

/** Whether the words of a name say that it holds a secret: `apiKey` and `DB_PASSWORD` do, `keyboard` and `author` do not. */
export function isSecretFieldName(name: string): boolean {
  if (!MAY_BE_SECRET.test(name)) return false
  const words = splitName(name)
  return words.some((word, at) => SECRET_WORDS.has(word) || (isKey(word) && SECRET_KEY_WORDS.has(words[at - 1] ?? '')))
}

const isKey = (word: string): boolean => word === 'key' || word === 'keys'

const splitName = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
