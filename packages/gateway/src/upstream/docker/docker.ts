export { prepareDocker } from './docker-launch.ts'
