import type { Document, LineCounter, parseDocument } from 'yaml'

export interface ParseYamlOptions {
  /** From the `yaml` package, passed in so that this module does not have to load it. */
  readonly parse: typeof parseDocument
  readonly text: string
  readonly lineCounter?: LineCounter
}

/** Parses a YAML 1.2 document, with its errors. Returns `undefined` if it is nested too deeply to parse. */
export function parseYaml({ parse, text, lineCounter }: ParseYamlOptions): Document.Parsed | undefined {
  try {
    return parse(text, {
      version: '1.2',
      schema: 'core',
      prettyErrors: false,
      // Callers check for duplicate keys themselves, in linear time.
      uniqueKeys: false,
      // `silent` would also hide a second document.
      logLevel: 'error',
      ...(lineCounter && { lineCounter }),
    })
  } catch (error) {
    // The composer is recursive: input within its own depth limit may still be too deep for the stack.
    if (error instanceof RangeError) return undefined
    throw error
  }
}
