export { type KitConfig, type KitConfigOptions, readKitConfig } from './kit-config.ts'
export { readServerConfig, type ServerConfig } from './server-config.ts'
