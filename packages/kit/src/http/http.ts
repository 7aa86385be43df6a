export { type HttpOptions, type HttpServing, serveHttp } from './serve-http.ts'
