/** On its own, so that the YAML parser is loaded only where a file needs it. */
export { parseYamlValue } from '../../config/config.ts'
