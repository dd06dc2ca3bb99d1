/** The name, drawn: a court with a column on each side, then the letters. */
export const WORD_MARK = `<svg class="mark" role="img" aria-label="Atrium" viewBox="0 0 150 36" width="150" height="36">
<g fill="none" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">
<g class="accent"><path d="M3 31V14L17 4l14 10v17"/><path d="M11 31V20a6 6 0 0 1 12 0v11"/></g>
<path d="M47 30 56.5 7 66 30M50.4 22h12.2"/>
<path d="M74 9v16a5 5 0 0 0 5 5h1.500M70.500 15h9"/>
<path d="M87 30V15m0 6.500a6.500 6.500 0 0 1 7-6.500"/>
<path d="M101 30V15m0-6.500v.1"/>
<path d="M109 15v8.500a6.500 6.500 0 0 0 13 0V15m0 8.500V30"/>
<path d="M130 30V15m0 5.500a4.750 4.750 0 0 1 9.500-.5v10m0-9.500a4.250 4.250 0 0 1 8.500-.5v10"/>
</g></svg>`
