import { expect, test } from 'vitest'
import { textOfHtml } from './html-text.ts'

test('what people read is kept, all else is not', () => {
  const { title, text } = textOfHtml(`<!doctype html><html><head><title> A  page </title>
    <style>p { color: red }</style><script>if (a < b) alert("<p>no</p>")</script></head>
    <body><!-- no --><h1>Wings</h1><p>Lift &amp; drag,<br>caf&eacute; &#x1F98A;&nbsp;<b>bo</b>ld</p>
    <ul><li>one<li>two</ul><table><tr><td>a</td><td>b</td></tr></table>
    <noscript>no</noscript><svg><title>no</title></svg><template>no</template><p>a < b</body></html>`)
  expect(title).toBe('A page')
  expect(text).toBe('Wings\n\nLift & drag,\ncafé 🦊 bold\n\none\ntwo\n\na b\n\na < b')
})

test('broken pages end too', () => {
  expect(textOfHtml('<div><p>a<span>b').text).toBe('ab')
  expect(textOfHtml('a</p></div></script>b').text).toContain('b')
  expect(textOfHtml(`${'<div>'.repeat(50_000)}deep`).text).toBe('deep')
  expect(textOfHtml('<'.repeat(100_000)).text.length).toBeGreaterThan(0)
  expect(textOfHtml('').text).toBe('')
})
