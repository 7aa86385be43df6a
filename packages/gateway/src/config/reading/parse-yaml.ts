import type { Document, LineCounter, parseDocument } from 'yaml'

export interface ParseYamlOptions {
  /** Of the `yaml` package: who only needs a path does not load it. */
  readonly parse: typeof parseDocument
  readonly text: string
  readonly lineCounter?: LineCounter
}

/** A YAML 1.2 document with all that is wrong in it; nothing where it is nested too deeply to be read at all. */
export function parseYaml({ parse, text, lineCounter }: ParseYamlOptions): Document.Parsed | undefined {
  try {
    return parse(text, {
      version: '1.2',
      schema: 'core',
      prettyErrors: false,
      // Whoever reads the document compares them instead, in linear time.
      uniqueKeys: false,
      // `silent` would also pass over a second document.
      logLevel: 'error',
      ...(lineCounter && { lineCounter }),
    })
  } catch (error) {
    // The composer recurses: what its own limit lets through may still be too deep for the stack.
    if (error instanceof RangeError) return undefined
    throw error
  }
}
