import { isJsonObject, type Json } from '@sallyport/core'
import { folderFromVariable, joinPath } from '../agent-folders.ts'
import { readNativeFile } from '../read-native-file.ts'
import type { SourceSearch } from '../server-sources.ts'

/** Plans of one person. Codex asks its service for the settings of a workspace with others, and starts servers in them. */
const PERSONAL: ReadonlySet<string> = new Set(['free', 'go', 'plus', 'pro', 'prolite'])

/** Logins that say nothing of the plan before they are used. */
const TOKENS = ['CODEX_ACCESS_TOKEN', 'OPENAI_IDENTITY_TOKEN_FILE']

/** Logins with which the service may hand out servers that no file names. */
export async function findOrganizationLogins({ host, native }: SourceSearch): Promise<readonly string[]> {
  const stored = native.filter(({ config }) => /keyring|auto/.test(String(config.document[CREDENTIAL_STORE_KEY] ?? '')))
  return [
    ...TOKENS.filter((name) => host.environment[name]),
    ...stored.map(({ file }) => `${CREDENTIAL_STORE_KEY} in ${file.path}, which hides the login`),
    ...(await checkLoginFile(joinPath(host, folderFromVariable(host, 'CODEX_HOME', '.codex'), 'auth.json'))),
  ]
}

const CREDENTIAL_STORE_KEY = 'cli_auth_credentials_store'

async function checkLoginFile(path: string): Promise<readonly string[]> {
  try {
    const text = await readNativeFile(path)
    if (text === undefined) return []
    const login: unknown = JSON.parse(text)
    if (!isJsonObject(login)) return []
    if (isJsonObject(login.tokens)) return isPersonal(login.tokens.id_token) ? [] : [path]
    return login.personal_access_token || login.agent_identity ? [path] : []
  } catch {
    // Codex may read what we cannot.
    return [path]
  }
}

/** What the token says is not checked here: it decides whom Codex asks, not whom anybody trusts. */
function isPersonal(token: Json | undefined): boolean {
  const [, claims = ''] = String(token).split('.')
  const said: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'))
  const about = isJsonObject(said) ? said['https://api.openai.com/auth'] : undefined
  return isJsonObject(about) && PERSONAL.has(String(about.chatgpt_plan_type))
}
