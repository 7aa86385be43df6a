import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from '../harness/browser.ts'
import { endProcess, makePlace, type RunningGateway, runGateway } from '../harness/run-gateway.ts'

const require = createRequire(import.meta.url)

/** The entry of a server that is an npm package, for config.yaml. */
export const npmServer = (name: string, ...args: readonly string[]) => ({
  command: process.execPath,
  args: [require.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
})

export interface WebBench {
  /** The one that runs now. */
  readonly gateway: RunningGateway
  readonly browser: Browser
  /** Ends the gateway and starts it again, at the same port and without the environment of its first start. */
  restart(): Promise<void>
  /** A page that is logged in, at this address. */
  open(path?: string, look?: Look): Promise<WebPage>
  close(): Promise<void>
}

export interface Look {
  readonly scheme?: 'light' | 'dark'
  readonly size?: 'desktop' | 'phone'
}

const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const

export interface WebPage {
  readonly page: Page
  /** Errors in the console, uncaught exceptions, and requests to anything but the gateway. */
  readonly problems: readonly string[]
  close(): Promise<void>
}

/** `files`: more of the home, by name. `env`: for the first start of the gateway. */
export async function openWebBench(
  config: object,
  files: Readonly<Record<string, object>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<WebBench> {
  const place = makePlace(config)
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(place.home, name), JSON.stringify(content, null, 2))
  const [first, browser] = await Promise.all([runGateway({ place, env }), launchBrowser()])
  let gateway = first
  return {
    get gateway() {
      return gateway
    },
    browser,
    restart: async () => {
      await endProcess(gateway.child)
      gateway = await runGateway({
        place,
        args: ['--no-auth', '--port', new URL(gateway.url).port],
        port: 'of the home',
      })
    },
    open: (path = '/', look = {}) => openPage({ gateway, browser, path, look }),
    close: async () => {
      await browser.close()
      await gateway.stop()
    },
  }
}

/** The path of a login link, as `sallyport ui` would print it. */
export async function mintLoginPath(gateway: RunningGateway): Promise<string> {
  const response = await fetch(`${gateway.url}/api/login-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token('operator')}` },
  })
  const { path } = (await response.json()) as { path: string }
  return path
}

interface OpenOptions {
  readonly gateway: RunningGateway
  readonly browser: Browser
  readonly path: string
  readonly look: Look
}

async function openPage({ gateway, browser, path, look }: OpenOptions): Promise<WebPage> {
  const { scheme = 'light', size = 'desktop' } = look
  const context = await browser.newContext({
    locale: 'en-US',
    viewport: SIZES[size],
    colorScheme: scheme,
    hasTouch: size === 'phone',
  })
  const page = await context.newPage()
  const problems = watchProblems(page, gateway.url)
  await page.goto(`${gateway.url}${await mintLoginPath(gateway)}`)
  if (path !== '/') await page.goto(`${gateway.url}${path}`)
  return { page, problems, close: () => closeContext(context) }
}

const closeContext = (context: BrowserContext): Promise<void> => context.close()

function watchProblems(page: Page, origin: string): readonly string[] {
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) problems.push(`a request to ${request.url()}`)
  })
  return problems
}

/** What axe finds that keeps somebody from using the page. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  const { default: axe } = await import('axe-core')
  await page.evaluate(axe.source)
  const violations = await page.evaluate(async () => {
    const { axe: engine } = globalThis as unknown as { axe: { run(): Promise<{ violations: readonly Violation[] }> } }
    interface Violation {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
    }
    return (await engine.run()).violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
      )
  })
  return violations
}

const SHOTS = process.env.SALLYPORT_SHOTS

/** With `SALLYPORT_SHOTS=folder`, takes a picture. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return
  mkdirSync(SHOTS, { recursive: true })
  await page.screenshot({ path: join(SHOTS, `${name}.png`) })
}
