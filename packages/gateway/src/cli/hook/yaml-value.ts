/** A separate file, so that the YAML parser is loaded only if a file needs it. */
export { parseYamlValue } from '../../config/config.ts'
