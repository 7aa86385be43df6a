export { createHttpHandler, type HttpHandler, type HttpHandlerOptions, type HttpLimits } from './http-handler.ts'
export { type HttpOptions, type HttpServing, serveHttp } from './serve-http.ts'
