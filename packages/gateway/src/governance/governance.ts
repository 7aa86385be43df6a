export { compilePattern } from './linear-pattern.ts'
export { createPathWorld, REMOTE_PATH_WORLD } from './path-world.ts'
