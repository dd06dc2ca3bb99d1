import { escapeHtml, type Fault, faultSummary, fieldOf, type Page, renderPage } from './page.ts'

interface ChoiceView {
  readonly action: string
  readonly token: string
  readonly faults: readonly Fault[]
}

const faultyIn = (faults: readonly Fault[]) => (id: string) => faults.some(({ field }) => field === id)

const passwordFields = (isFaulty: (id: string) => boolean): string =>
  `${fieldOf({ id: 'new', label: 'Password', type: 'password', autocomplete: 'new-password', hint: '8 to 256 characters; a long phrase is best', isFaulty: isFaulty('new') })}
${fieldOf({ id: 'again', label: 'Password again', type: 'password', autocomplete: 'new-password', isFaulty: isFaulty('again') })}`

/** Chooses the password of an account by a link; the user name stands there for password managers. */
export function choosePasswordPage(view: ChoiceView & { readonly user: string }): Page {
  const hasFaults = view.faults.length > 0
  return renderPage({
    title: hasFaults ? 'Error: Choose a password' : 'Choose a password',
    body: `<h1>Choose a password</h1>
<p class="lead">for ${escapeHtml(view.user)}</p>
${faultSummary(view.faults)}
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="token" value="${escapeHtml(view.token)}">
<input type="hidden" name="user" autocomplete="username" value="${escapeHtml(view.user)}">
${passwordFields(faultyIn(view.faults))}
<button type="submit">Set password</button>
</form>`,
  })
}

/** Somebody who has no account accepts an invitation: the name and the first password are theirs to choose. */
export function invitationPage(
  view: ChoiceView & { readonly spaceName: string; readonly user: string; readonly name: string },
): Page {
  const isFaulty = faultyIn(view.faults)
  const hasFaults = view.faults.length > 0
  return renderPage({
    title: hasFaults ? 'Error: Accept the invitation' : 'Accept the invitation',
    body: `<h1>Join ${escapeHtml(view.spaceName)}</h1>
<p class="lead">Choose a user name and a password for your new account.</p>
${faultSummary(view.faults)}
<form method="post" action="${escapeHtml(view.action)}">
<input type="hidden" name="token" value="${escapeHtml(view.token)}">
${fieldOf({ id: 'user', label: 'User name', type: 'text', autocomplete: 'username', value: view.user, isFaulty: isFaulty('user'), hasFocus: !hasFaults })}
${fieldOf({ id: 'name', label: 'Full name', type: 'text', autocomplete: 'name', value: view.name, isFaulty: isFaulty('name') })}
${passwordFields(isFaulty)}
<button type="submit">Create account and join</button>
</form>
<p class="more">Whoever has an account already signs in to the console and accepts the invitation there.</p>`,
  })
}

export const passwordChosenPage = (user: string): Page =>
  renderPage({
    title: 'Password set',
    body: `<h1>Password set</h1>\n<p>Sign in as ${escapeHtml(user)} from now on. You can close this page.</p>`,
  })

export const joinedPage = (user: string, spaceName: string): Page =>
  renderPage({
    title: 'You have joined',
    body: `<h1>You have joined ${escapeHtml(spaceName)}</h1>\n<p>Sign in as ${escapeHtml(user)}. You can close this page.</p>`,
  })
