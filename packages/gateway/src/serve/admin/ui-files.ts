import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { PACKAGE_ROOT } from '../../package-root.ts'

/** Folder of the built web UI. */
export const UI_FOLDER = join(PACKAGE_ROOT, 'ui')

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Every dot is between word characters, so no name can lead out of the folder. */
const UI_PATH = /^\/((?:assets\/)?[\w-]+(?:\.[\w-]+)+)$/
/** The build puts only files there whose names contain a hash of their content. */
const HASHED_PATH = /^\/assets\//

/** A screen of the page, such as `/approvals/a1b2`: names its own script, so that any of them is the same page. */
const SCREEN_PATH = /^\/(?!assets(?:\/|$))[a-z-]+(?:\/[\w.~%@:!'()*-]+)*$/

interface UiRequest {
  /** A person opens an address, in contrast to a file that a page loads. */
  readonly isPageWanted: boolean
  readonly folder?: string
}

/** Serves one file of the UI. Throws ROUTE_UNKNOWN for every other path. */
export async function sendUiFile(
  response: ServerResponse,
  path: string,
  { isPageWanted, folder = UI_FOLDER }: UiRequest,
): Promise<void> {
  const isPage = path === '/' || (isPageWanted && SCREEN_PATH.test(path))
  const name = isPage ? 'index.html' : UI_PATH.exec(path)?.[1]
  const type = name === undefined ? undefined : CONTENT_TYPES[extname(name)]
  if (name === undefined || type === undefined) throw noSuchPage(path)
  const bytes = await readUiFile(join(folder, name), isPage ? '/' : path)
  response.writeHead(200, {
    'content-type': type,
    'content-length': bytes.length,
    ...(HASHED_PATH.test(path) && { 'cache-control': 'private, max-age=31536000, immutable' }),
  })
  response.end(bytes)
}

async function readUiFile(file: string, path: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (cause) {
    if (path !== '/') throw noSuchPage(path)
    throw new SallyportError('ROUTE_UNKNOWN', 'The web UI is not part of this build.', {
      hint: 'Run `npm run build`; the API under /api works without it.',
      cause,
    })
  }
}

function noSuchPage(path: string): SallyportError {
  return new SallyportError('ROUTE_UNKNOWN', `There is no page ${JSON.stringify(path.slice(0, 200))}.`, {
    hint: 'The UI starts at /, the API is described at /api/openapi.json.',
  })
}
