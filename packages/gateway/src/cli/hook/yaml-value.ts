/** On its own, so that the YAML parser is loaded only where a file needs it. */
export { valueIn } from '../../config/config.ts'
