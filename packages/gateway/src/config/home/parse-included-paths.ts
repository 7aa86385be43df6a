import { isJsonList, isJsonObject } from '@sallyport/core'
import { parseYamlValue } from '../servers/written-servers.ts'

/** The paths under `include`. Invalid ones are ignored here. */
export function parseIncludedPaths(text: string): readonly string[] {
  const value = parseYamlValue(text)?.value
  const include = isJsonObject(value) ? value.include : undefined
  const paths = isJsonList(include) ? include : [include ?? '']
  return paths.filter((path): path is string => typeof path === 'string' && path.trim() !== '')
}
