// The gateway, an agent that calls it, and the person who types commands.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SignJWT } from 'jose'

const MAIN = fileURLToPath(new URL('cli/main.js', import.meta.resolve('sallyport')))

/** @param {{ home: string, state: string, env: NodeJS.ProcessEnv }} options */
export async function startGateway({ home, state, env }) {
  const files = ['--home', home, '--state', state]
  const args = [MAIN, 'serve', ...files, '--port', '0', '--json']
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  const failed = once(child, 'exit').then(() => Promise.reject(new Error(`The gateway did not start:\n${log}`)))
  const [banner] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), failed])
  failed.catch(() => {})
  return {
    url: JSON.parse(banner).url,
    async end(signal) {
      child.kill(signal)
      await once(child, 'exit')
      process.off('exit', killAtExit)
    },
  }
}

/** What a person types, and what is printed. */
export async function runCommand({ home, state, env }, words) {
  const args = [MAIN, ...words, '--home', home, '--state', state]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env })
  return `${stdout}${stderr}`
}

/** A user and a session: both are in the token, and nothing that the agent itself says can change them. */
export async function connectAgent({ url, secret, user, session }) {
  const token = await new SignJWT({ sub: user, session_id: session })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer('example')
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret))
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  const client = new Client({ name: user, version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
}
