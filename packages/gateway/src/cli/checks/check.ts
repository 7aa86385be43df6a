/** The result of one check of `doctor`. */
export interface Check {
  readonly name: string
  readonly level: 'ok' | 'warning' | 'wrong'
  readonly finding: string
  /** What to do about it. */
  readonly fix?: string
}

export const ok = (name: string, finding: string): Check => ({ name, level: 'ok', finding })

export const warning = (name: string, finding: string, fix?: string): Check => ({
  name,
  level: 'warning',
  finding,
  ...(fix !== undefined && { fix }),
})

export const wrong = (name: string, finding: string, fix?: string): Check => ({
  name,
  level: 'wrong',
  finding,
  ...(fix !== undefined && { fix }),
})
