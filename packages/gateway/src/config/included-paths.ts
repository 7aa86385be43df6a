import { isJsonList, isJsonObject } from '@sallyport/core'
import { valueIn } from './written-servers.ts'

/** What `include` names, as far as it can be understood. */
export function includedPaths(text: string): readonly string[] {
  const value = valueIn(text)?.value
  const include = isJsonObject(value) ? value.include : undefined
  const paths = isJsonList(include) ? include : [include ?? '']
  return paths.filter((path): path is string => typeof path === 'string' && path.trim() !== '')
}
