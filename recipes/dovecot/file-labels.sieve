# Runs when a message is delivered: files labels with their own folder there, and other unwanted mail to Junk.
require ["fileinto", "mailbox"];

if header :matches "X-Priory-Verdict" "newsletter;*" {
  fileinto :create "Newsletter";
} elsif header :matches "X-Priory-Verdict" "phishing;*" {
  fileinto :create "Phishing";
} elsif header :is "X-Spam-Flag" "YES" {
  fileinto :create "Junk";
}
