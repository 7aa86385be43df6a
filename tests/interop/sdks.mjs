/** The SDKs, and how each is installed into the cache, outside of the repository. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const HERE = fileURLToPath(new URL('.', import.meta.url))
const REPOSITORY = join(HERE, '../..')
const CACHE = resolve(process.env.SALLYPORT_INTEROP_CACHE ?? join(homedir(), '.cache/sallyport-interop'))
const BOTH = ['legacy', 'modern']

function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', ...options })
  if (error) throw new Error(`${program}: ${error.message}`)
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr.trim().slice(-600)}`)
  return stdout.trim()
}

function npmPackage(name, file) {
  return () => ({
    version: JSON.parse(readFileSync(join(REPOSITORY, 'node_modules', name, 'package.json'), 'utf8')).version,
    server: [process.execPath, join(HERE, `servers/${file}.mjs`)],
    client: [process.execPath, join(HERE, `clients/${file}.mjs`)],
  })
}

function pythonPackage({ name, range, file, client = file }) {
  return ({ isUpdate }) => {
    const folder = join(CACHE, file)
    const python = join(folder, 'bin/python')
    if (!existsSync(python)) run('python3', ['-m', 'venv', folder])
    const isThere = spawnSync(python, ['-c', `import ${name}`]).status === 0
    if (!isThere || isUpdate) run(python, ['-m', 'pip', 'install', '--quiet', '--upgrade', `${name}${range}`])
    return {
      version: run(python, ['-c', `from importlib.metadata import version; print(version("${name}"))`]),
      server: [python, join(HERE, `servers/${file}.py`)],
      client: [python, join(HERE, `clients/${client}.py`)],
    }
  }
}

function goModule({ isUpdate }) {
  const folder = join(CACHE, 'go')
  const module = 'github.com/modelcontextprotocol/go-sdk'
  mkdirSync(folder, { recursive: true })
  cpSync(join(HERE, 'go'), folder, { recursive: true })
  const options = { cwd: folder }
  if (!existsSync(join(folder, 'go.mod'))) run('go', ['mod', 'init', 'interop'], options)
  if (isUpdate || !readFileSync(join(folder, 'go.mod'), 'utf8').includes(module))
    run('go', ['get', `${module}@latest`], options)
  run('go', ['mod', 'tidy'], options)
  for (const name of ['server', 'client']) run('go', ['build', '-o', `bin/${name}`, `./${name}`], options)
  return {
    version: run('go', ['list', '-m', '-f', '{{.Version}}', module], options).replace(/^v/, ''),
    server: [join(folder, 'bin/server')],
    client: [join(folder, 'bin/client')],
  }
}

/** Without TLS: servers listen on loopback. */
function rustCrate({ isUpdate }) {
  const folder = join(CACHE, 'rust')
  mkdirSync(folder, { recursive: true })
  cpSync(join(HERE, 'rust'), folder, { recursive: true })
  const options = { cwd: folder }
  if (isUpdate) run('cargo', ['update', '--quiet'], options)
  run('cargo', ['build', '--quiet'], options)
  return {
    version: run('cargo', ['pkgid', 'rmcp'], options).match(/[@#](?:rmcp@)?([\d.]+)$/)[1],
    server: [join(folder, 'target/debug/server')],
    client: [join(folder, 'target/debug/client')],
  }
}

/** In the order of the tables. */
export const SDKS = {
  ts1: { title: 'TypeScript SDK v1', eras: ['legacy'], install: npmPackage('@modelcontextprotocol/sdk', 'ts1') },
  ts2: { title: 'TypeScript SDK v2', eras: BOTH, install: npmPackage('@modelcontextprotocol/server', 'ts2') },
  mcp1: {
    title: 'Python mcp 1.x',
    eras: ['legacy'],
    install: pythonPackage({ name: 'mcp', range: '>=1,<2', file: 'mcp1' }),
  },
  mcp2: { title: 'Python mcp 2.x', eras: BOTH, install: pythonPackage({ name: 'mcp', range: '>=2,<3', file: 'mcp2' }) },
  fastmcp2: {
    title: 'FastMCP 2.x',
    eras: ['legacy'],
    install: pythonPackage({ name: 'fastmcp', range: '>=2,<3', file: 'fastmcp2', client: 'fastmcp_client' }),
  },
  fastmcp4: {
    title: 'FastMCP 4.x',
    eras: BOTH,
    install: pythonPackage({ name: 'fastmcp', range: '>=4,<5', file: 'fastmcp4', client: 'fastmcp_client' }),
  },
  go: { title: 'Go SDK', eras: BOTH, install: goModule },
  rust: { title: 'Rust rmcp', eras: BOTH, install: rustCrate },
}
