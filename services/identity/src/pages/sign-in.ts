import { escapeHtml, type Fault, faultSummary, fieldOf, type Page, renderPage } from './page.ts'

export interface SignInView {
  /** Name of the application that the person goes on to. */
  readonly application: string
  /** Where the form is posted. */
  readonly action: string
  readonly csrf: string
  readonly user: string
  readonly faults: readonly Fault[]
  readonly passwordPage: string
  /** The application's address behind the redirects. */
  readonly leadsTo: string | undefined
}

export function signInPage(view: SignInView): Page {
  const hasFaults = view.faults.length > 0
  // Being slowed down says nothing against what was typed.
  const isFaulty = view.faults.some(({ field }) => field !== undefined)
  const knowsUser = view.user !== ''
  return renderPage({
    title: hasFaults ? 'Error: Sign in' : 'Sign in',
    leadsTo: view.leadsTo,
    body: `<h1>Sign in</h1>
<p class="lead">to continue to ${escapeHtml(view.application)}</p>
${faultSummary(view.faults)}
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="csrf" value="${escapeHtml(view.csrf)}">
${fieldOf({ id: 'user', label: 'User name', type: 'text', autocomplete: 'username', value: view.user, isFaulty, hasFocus: !hasFaults && !knowsUser })}
${fieldOf({ id: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', isFaulty, hasFocus: !hasFaults && knowsUser })}
<button type="submit">Sign in</button>
</form>
<p class="more"><a href="${escapeHtml(view.passwordPage)}">Change password</a></p>`,
  })
}
