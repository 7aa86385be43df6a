/** What a browser without a login sees. It stands alone: style and script are for those who are in. */
export const LOGIN_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sallyport: log in</title>
</head>
<body>
<main>
<h1>Sallyport</h1>
<p>You are not logged in, or the link was used before or has expired.</p>
<p>Run <code>sallyport ui</code> in a terminal on this machine. It prints a fresh link, good once and for ten minutes.</p>
</main>
</body>
</html>
`
