import { textOf } from './repository.ts'

export interface Snippet {
  readonly page: string
  readonly language: string
  readonly text: string
}

/** The fenced blocks of a page in these languages, from its top. */
export function snippetsOf(page: string, ...languages: readonly string[]): readonly Snippet[] {
  return [...textOf(page).matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm)]
    .map(([, language = '', text = '']) => ({ page, language, text }))
    .filter(({ language }) => languages.includes(language))
}
