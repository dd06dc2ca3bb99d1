# What Atrium's portal says about a user: {"superuser", "member", "owner"}, each a boolean, or {"problem": string}.
#
# Settings, from data.atrium.config (url, token, client_id, client_secret) or the environment (ATRIUM_URL,
# ATRIUM_POLICY_TOKEN, ATRIUM_POLICY_CLIENT_ID, ATRIUM_POLICY_CLIENT_SECRET). With a token it is used as it is; with
# client credentials a token is fetched and kept for a minute.
package atrium.portal

in_space(space_id, user_id) := result if {
	url := sprintf("%s/portal/v1/permissions/%s/%s", [base_url, encode(space_id), encode(user_id)])
	result := read_space(ask(url))
} else := {"problem": unconfigured}

everywhere(user_id) := result if {
	url := sprintf("%s/portal/v1/permissions/%s", [base_url, encode(user_id)])
	result := read_user(ask(url), user_id)
} else := {"problem": unconfigured}

# A space in a query string is a plus sign; ids hold no spaces, so this is right in a path too.
encode(id) := urlquery.encode(id)

unconfigured := "ATRIUM_URL is not set" if {
	not base_url
} else := "ATRIUM_POLICY_TOKEN is not set, nor are ATRIUM_POLICY_CLIENT_ID and ATRIUM_POLICY_CLIENT_SECRET" if {
	not static_token
	not has_client
} else := "no token could be had for the client of the policy" if {
	not token
} else := "the portal could not be asked"

# Cached for as long as the answer's own Cache-Control allows, which is seconds.
ask(url) := http.send({
	"method": "GET",
	"url": url,
	"headers": {"authorization": sprintf("Bearer %s", [token]), "accept": "application/json"},
	"timeout": "2s",
	"cache": true,
	"raise_error": false,
})

read_space(response) := {"problem": failure(response)} if {
	failure(response)
} else := {
	"superuser": response.body.isSuperuser,
	"member": response.body.isSpaceMember,
	"owner": response.body.isSpaceOwner,
} if {
	is_boolean(response.body.isSuperuser)
	is_boolean(response.body.isSpaceMember)
	is_boolean(response.body.isSpaceOwner)
} else := {"problem": "the answer of the portal is malformed"}

read_user(response, user_id) := {"problem": failure(response)} if {
	failure(response)
} else := {"superuser": response.body.user.superuser, "member": false, "owner": false} if {
	response.body.authenticated == true
	response.body.user.qNumber == user_id
	is_boolean(response.body.user.superuser)
} else := {"problem": "the answer of the portal is malformed"}

# Undefined for a good answer.
failure(response) := "the user or the space is not known" if {
	response.status_code == 404
} else := "the portal refuses the credentials of the policy" if {
	response.status_code in {401, 403}
} else := "the portal does not answer" if {
	object.get(response, "status_code", 0) == 0
} else := sprintf("the portal answered %v", [response.status_code]) if {
	response.status_code != 200
}

base_url := trim_right(setting("url"), "/")

token := static_token

token := fetched_token if not static_token

static_token := setting("token")

has_client if {
	setting("client_id")
	setting("client_secret")
}

# Kept for a minute although the answer says no-store: it stays in this process's memory.
fetched_token := response.body.access_token if {
	response := http.send({
		"method": "POST",
		"url": sprintf("%s/auth/oauth2/realms/root/realms/machine2machine/access_token", [base_url]),
		"headers": {"content-type": "application/x-www-form-urlencoded"},
		"raw_body": urlquery.encode_object({
			"grant_type": "client_credentials",
			"scope": "machine2machine",
			"client_id": setting("client_id"),
			"client_secret": setting("client_secret"),
		}),
		"timeout": "2s",
		"force_cache": true,
		"force_cache_duration_seconds": 60,
		"raise_error": false,
	})
	response.status_code == 200
	is_string(response.body.access_token)
}

setting(name) := value if {
	value := data.atrium.config[name]
	value != ""
} else := value if {
	value := opa.runtime().env[variables[name]]
	value != ""
}

variables := {
	"url": "ATRIUM_URL",
	"token": "ATRIUM_POLICY_TOKEN",
	"client_id": "ATRIUM_POLICY_CLIENT_ID",
	"client_secret": "ATRIUM_POLICY_CLIENT_SECRET",
}
