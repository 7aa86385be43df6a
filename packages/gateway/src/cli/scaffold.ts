import { randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, describeDiskError } from '../disk/disk.ts'
import type { PackageName } from './package-name.ts'

export interface ScaffoldOptions {
  /** The folder of the template, which is a project itself. */
  readonly template: string
  readonly folder: string
  readonly name: PackageName
}

/** The name of the template's project. */
const TEMPLATE_NAME = 'my-server'
/** `npm pack` would treat a `.gitignore` in the template as its own. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' }

interface TemplateFile {
  readonly path: string
  readonly text: string
}

/** Creates a project from a template, completely or not at all. Returns the paths of its files. */
export async function scaffold({ template, folder, name }: ScaffoldOptions): Promise<readonly string[]> {
  const files = (await readTemplate(template)).map((file) => fill(file, name))
  const draft = join(dirname(folder), `.${name.short.slice(0, 100)}-${randomUUID().slice(0, 8)}`)
  try {
    const isThere = await checkTargetFolder(folder)
    for (const { path, text } of files) await write(join(draft, path), text)
    // Not every system can rename onto an existing folder, even an empty one.
    if (isThere) await rmdir(folder)
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error instanceof SallyportError ? error : unwritable(folder, error)
  }
  return files.map(({ path }) => path)
}

/** Whether an empty folder exists there already. Throws for anything else. */
async function checkTargetFolder(folder: string): Promise<boolean> {
  try {
    const found = await lstat(folder)
    if (found.isDirectory() && (await readdir(folder)).length === 0) return true
    throw occupied(folder, found.isDirectory() ? 'is not empty' : 'exists already, and is not a folder')
  } catch (error) {
    if (causeCode(error) === 'ENOENT') return false
    throw error
  }
}

async function readTemplate(template: string): Promise<readonly TemplateFile[]> {
  const entries = await readdir(template, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Promise.all(
    paths.toSorted().map(async (path) => {
      const relativePath = path.slice(template.length + 1).replaceAll(sep, '/')
      return { path: RENAMED[relativePath] ?? relativePath, text: await readFile(path, 'utf8') }
    }),
  )
}

function fill({ path, text }: TemplateFile, name: PackageName): TemplateFile {
  if (path !== 'package.json') return { path, text: text.replaceAll(TEMPLATE_NAME, () => name.short) }
  const manifest = JSON.parse(text.replaceAll(TEMPLATE_NAME, () => name.short))
  if (Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).includes(name.full))
    throw new SallyportError('USAGE', `"${name.full}" is a package that the project needs.`, {
      hint: 'Choose another name: npm does not install a package into a project of the same name.',
    })
  return { path, text: `${JSON.stringify({ ...manifest, name: name.full }, null, 2)}\n` }
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text, { flag: 'wx' })
}

function unwritable(folder: string, cause: unknown): SallyportError {
  if (['ENOTEMPTY', 'EEXIST'].includes(causeCode(cause))) return occupied(folder, 'is not empty', cause)
  return new SallyportError('USAGE', `${folder} could not be created: ${describeDiskError(cause)}.`, {
    hint: 'Run it in a folder that you can write to.',
    cause,
  })
}

function occupied(folder: string, what: string, cause?: unknown): SallyportError {
  return new SallyportError('USAGE', `${folder} ${what}; nothing was written.`, {
    hint: 'Give another name, or run it in another folder.',
    cause,
  })
}
