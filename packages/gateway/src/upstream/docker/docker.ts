export { prepareDockerLaunch } from './docker-launch.ts'
