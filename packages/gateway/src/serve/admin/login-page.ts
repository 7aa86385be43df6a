import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'

const STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#16181b, #e9ebed); --ink-2: light-dark(#474c52, #b0b7be); }
* { box-sizing: border-box; margin: 0; }
body { min-height: 100vh; display: grid; place-items: center; padding: 24px; background: light-dark(#f6f6f3, #0d0f11); color: var(--ink);
  font: 400 14px/1.5 -apple-system, "Segoe UI Variable Text", "Segoe UI", Roboto, "Noto Sans", Ubuntu, Cantarell, "Helvetica Neue", Arial, sans-serif; }
main { width: min(420px, 100%); display: grid; gap: 18px; }
svg { width: 40px; height: 40px; }
.b { fill: light-dark(#1d3f61, #cfe2f5); } .a { fill: light-dark(#ffffff, #14283c); } .g { fill: light-dark(#8fbbe5, #3f76ab); }
h1 { font-size: 24px; line-height: 1.3; font-weight: 600; letter-spacing: -0.02em; }
p { color: var(--ink-2); }
pre { padding: 10px 14px; border: 1px solid light-dark(#cfcfc7, #353c43); border-radius: 6px; background: light-dark(#ffffff, #14171a); user-select: all; }
pre, code { font: 400 13px/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace; }
.note { padding: 10px 12px; border-radius: 6px; background: light-dark(#fcf1dd, #2e220e); color: var(--ink); }
`

const BRAND =
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect class="b" width="32" height="32" rx="7"/><path class="a" d="M7 26V15a9 9 0 0 1 18 0v11h-4V15a5 5 0 0 0-10 0v11z"/><path class="g" d="M14 26v-9a2 2 0 0 1 4 0v9z"/></svg>'

const NOTE =
  '<p class="note" role="alert">This link was used before, or has expired. Make a new one with the command above.</p>'

/** `isRefused`: the browser came with a link that is not valid. */
const buildPage = (isRefused: boolean): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sallyport: log in</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${BRAND}
<h1>Open this page with a login link</h1>
<p>You are not logged in. Run this where the gateway runs. The link that it prints works once, and for ten minutes.</p>
<pre>sallyport ui</pre>
${isRefused ? NOTE : ''}
</main>
</body>
</html>
`

/** The page allows exactly this style, and nothing else. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** What a browser without a login sees. It is self-contained: the files of the UI are served only after login. */
export function sendLoginPage(response: ServerResponse, isRefused: boolean): void {
  const page = buildPage(isRefused)
  response
    .writeHead(401, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(page),
      'content-security-policy': CONTENT_SECURITY_POLICY,
    })
    .end(page)
}
